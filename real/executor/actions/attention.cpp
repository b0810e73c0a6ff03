// real/executor/actions/attention.cpp -- the attention core where a rank has whole sequences, and which core a job has.
// SPDX-License-Identifier: Apache-2.0
#include "real/executor/actions/context_parallel.h"
#include "real/executor/blocks.h"
#include "real/executor/documents.h"
#include "real/executor/dropout.h"
#include "real/executor/gradients.h"
#include "real/executor/sinks.h"

namespace real {
namespace {

/// Of the operator's layer, where they cut the sequence; else 0.
std::int64_t chunk_of(const Task& task) {
  const std::int64_t chunk = task.c.model.chunk_of(task.op.layer);
  return chunk < task.c.sequence ? chunk : 0;
}

/// Chunks attend to themselves alone, so that each is to the kernel a sequence of its own: they lie one behind another.
kernels::Attention sequences_of(const Task& task, kernels::Attention a) {
  const std::int64_t chunk = chunk_of(task);
  if (chunk == 0) return a;
  a.batch *= a.queries / chunk;
  a.queries = a.keys = chunk;
  return a;
}

kernels::Attention whole_sequence(const Task& task) {
  const auto& work = task.work<plan::Attention>();
  kernels::Attention a = attention_shape(task, work.q_len, work.kv_len);
  expect(task, "query heads", work.heads, a.heads);
  expect(task, "key heads", work.kv_heads, a.kv_heads);
  a.causal = work.causal;
  a.window = work.window;
  a.alibi = alibi_of(task, 0);
  drop_in_kernel(task, {}, a);
  return sequences_of(task, a);
}

/// A kernel that wants padded values leaves a padded result.
const char* result_name(const Task& task) { return pads_values(task) ? "padded attention" : "attention"; }

/// Where one kernel does not do: documents have lengths of their own, and so have chunks that do not divide the
/// sequence; dropout counts the places of scores through whole sequences.
bool in_spans(const Task& task) {
  const std::int64_t chunk = chunk_of(task);
  return packs(task) || (chunk > 0 && (task.c.dropout || task.c.sequence % chunk != 0));
}

void forward_in_spans(Task& task) {
  const Share all = whole_sequences(task);
  const Attended attended = attend(task, attention_heads(task), all, all, mask_of(task));
  join_sinks(task, attended_shape(task, task.c.sequence, attended), 0, attended);
  task.leave(result_name(task), attended.out);
  task.leave("attention lse", attended.lse);
}

void backward_in_spans(Task& task, const Tensor& dout) {
  const Share all = whole_sequences(task);
  const Attended attended{task.read(result_name(task)), task.read("attention lse")};
  leave_head_gradients(task, attend_backward(task, attention_heads(task), all, all, mask_of(task), attended, dout));
  add_sinks_gradient(task, attended_shape(task, task.c.sequence, attended), 0, attended, dout);
}

void forward(Task& task) {
  if (in_spans(task)) return forward_in_spans(task);
  const Heads heads = attention_heads(task);
  const kernels::Attention a = whole_sequence(task);
  const Tensor out = task.make(result_name(task), a.batch * a.queries * a.heads * a.value_dim);
  const Tensor lse = task.make("attention lse", a.batch * a.heads * a.queries, kStatistic);
  task.backend.attention_forward(a, heads.q, heads.k, heads.v, out, lse);
  join_sinks(task, a, 0, {out, lse});
}

void backward(Task& task) {
  const Tensor dout = pads_values(task) ? task.read("d padded attention") : whole_gradient(task, "attention");
  if (in_spans(task)) return backward_in_spans(task, dout);
  const Heads heads = attention_heads(task);
  const Heads d{task.backend.allocate(heads.q.count), task.backend.allocate(heads.k.count),
                task.backend.allocate(heads.v.count)};
  const kernels::Attention a = whole_sequence(task);
  const Attended all{task.read(result_name(task)), task.read("attention lse")};
  task.backend.attention_backward(a, heads.q, heads.k, heads.v, all.out, all.lse, dout, d.q, d.k, d.v);
  add_sinks_gradient(task, a, 0, all, dout);
  leave_head_gradients(task, d);
}

AttentionCore core_of(const Task& task) {
  if (task.c.cp == 1) return {forward, backward};
  switch (task.c.strategy.cp_kind) {
    case spec::CpKind::ring: return task.c.job.framework.ring_gathers ? ring_at_once_core() : ring_core();
    case spec::CpKind::all_gather: return gathered_core();
    case spec::CpKind::ulysses: return ulysses_core();
  }
  return {};
}

}  // namespace

void add_attention_actions(Actions& actions) {
  actions["attention"] = [](Task& t) { core_of(t).forward(t); };
  actions["attention gradient"] = [](Task& t) { core_of(t).backward(t); };
  actions["attention gradients added"] = [](Task& t) { core_of(t).gradients_added(t); };
  actions["keys and values all-gather"] = [](Task& t) { core_of(t).keys_gathered(t); };
  actions["key and value gradients shift"] = [](Task& t) { core_of(t).gradients_shifted(t); };
}

}  // namespace real
