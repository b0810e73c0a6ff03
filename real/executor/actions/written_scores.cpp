// real/executor/actions/written_scores.cpp -- attention that writes its scores: batched matmuls around a softmax, as
// core/plan/block.cpp lowers it. Heads are read where they are packed, and their gradients written there. The heads of
// one group share keys and values, so a matmul goes over the groups and is made once for each of their heads.
// SPDX-License-Identifier: Apache-2.0
#include "real/executor/actions.h"
#include "real/executor/documents.h"
#include "real/executor/dropout.h"
#include "real/executor/gradients.h"
#include "real/executor/heads.h"
#include "real/executor/sinks.h"

namespace real {
namespace {

using kernels::BatchedMatmul;
using kernels::Matmul;
using kernels::Strides;

/// Heads of one kind, [tokens, heads, width] with gaps between tokens.
struct Side {
  Tensor tensor;               // from the first head of the first token on
  std::int64_t row = 0;        // from token to token
  std::int64_t width = 0;      // of a head
  std::int64_t per_group = 1;  // heads of this kind in a group
};

/// Of a matmul: what one head of one sequence is, where it begins, and how its groups follow.
struct Operand {
  Tensor tensor;
  Strides strides;
};

struct Scores {
  explicit Scores(const Task& task)
      : batch(task.c.batch), tokens(task.c.sequence), groups(task.c.kv_heads), per_group(task.c.heads / groups) {}
  std::int64_t batch, tokens, groups, per_group;

  std::int64_t count() const { return batch * groups * per_group * tokens * tokens; }
  /// Head `j` of each group of sequence `b`.
  Operand of(const Side& side, std::int64_t b, std::int64_t j) const {
    const std::int64_t head = side.per_group == 1 ? 0 : j, first = b * tokens * side.row + head * side.width;
    return {side.tensor.part(first, side.tensor.count - first), {side.row, side.per_group * side.width}};
  }
  /// The same of [batch, heads, tokens, width].
  Operand of(const Tensor& by_heads, std::int64_t width, std::int64_t b, std::int64_t j) const {
    const std::int64_t one = tokens * width, first = (b * groups * per_group + j) * one;
    return {by_heads.part(first, by_heads.count - first), {width, per_group * one}};
  }
  /// `body(sequence, head of the group)`
  template <class Body>
  void for_each(Body body) const {
    for (std::int64_t b = 0; b < batch; ++b) {
      for (std::int64_t j = 0; j < per_group; ++j) body(b, j);
    }
  }
};

void matmul(Task& task, const Scores& s, const Matmul& each, const Operand& a, const Operand& b, const Operand& c) {
  const BatchedMatmul shape{each, s.groups, a.strides, b.strides, c.strides};
  task.backend.batched_matmul(shape, a.tensor, b.tensor, c.tensor);
}

enum class Which { queries, keys, values };

std::int64_t width_of(const Task& task, Which which) {
  return which == Which::values ? task.c.value_head_dim : task.c.head_dim;
}
std::int64_t heads_of(const Task& task, Which which) {
  return which == Which::queries ? task.c.heads : task.c.kv_heads;
}

/// Out of a packed row of queries, keys, values; latent attention has a tensor of each.
Side side(const Task& task, Which which, const Tensor& tensor) {
  const plan::Context& c = task.c;
  const std::int64_t width = width_of(task, which), heads = heads_of(task, which);
  const std::int64_t first = which == Which::queries ? 0 : c.q_width + (which == Which::values ? c.kv_width : 0);
  Side out{tensor, heads * width, width, heads / c.kv_heads};
  if (!c.model.mla) {
    out.tensor = tensor.part(first, tensor.count - first);
    out.row = c.qkv_width;
  }
  return out;
}

std::string tensor_name(const Task& task, Which which) {
  if (!task.c.model.mla) return packed_name(task);
  return which == Which::queries ? "queries" : which == Which::keys ? "keys" : "values";
}

Side read(Task& task, Which which) { return side(task, which, task.read(tensor_name(task, which))); }

/// The gradient of one kind, in packed rows that the first of the three makes.
Side gradient(Task& task, Which which) {
  const std::string name = "d " + tensor_name(task, which);
  if (!task.c.model.mla) {
    return side(task, which, task.has(name) ? task.update(name) : task.make(name, task.c.tokens * task.c.qkv_width));
  }
  return side(task, which, task.make(name, task.c.tokens * heads_of(task, which) * width_of(task, which)));
}

double scale(const Task& task) { return attention_shape(task, task.c.sequence, task.c.sequence).scale; }

kernels::Softmax mask(const Task& task) {
  const spec::Model& m = task.c.model;
  const Scores s(task);
  const std::int64_t chunk = m.chunk_of(task.op.layer);
  return {.matrices = s.batch * s.groups * s.per_group,
          .queries = s.tokens,
          .keys = s.tokens,
          .causal = m.causal,
          .window = m.window_of(task.op.layer),
          .chunk = chunk,
          .heads = task.c.heads,
          .alibi = alibi_of(task, 0)};
}

void scores(Task& task) {
  const Scores s(task);
  const Side q = read(task, Which::queries), k = read(task, Which::keys);
  const Tensor out = task.make("attention scores", s.count());
  expect(task, "scores", task.work<plan::Matmul>().batch * s.tokens * s.tokens, out.count);
  const Matmul each{s.tokens, s.tokens, q.width, false, true, scale(task)};
  s.for_each([&](std::int64_t b, std::int64_t j) {
    matmul(task, s, each, s.of(q, b, j), s.of(k, b, j), s.of(out, s.tokens, b, j));
  });
}

void softmax(Task& task) {
  const Tensor in = task.read("attention scores"), out = task.make("attention probabilities", in.count);
  const bool sinks = task.c.model.attention_sinks;
  const Tensor lse = sinks ? task.make("attention lse", in.count / task.c.sequence, kStatistic) : Tensor{};
  const Tensor begins = packs(task) ? begins_of_documents(task) : Tensor{};
  task.backend.softmax_forward(mask(task), in, sinks ? task.weight(kSinks) : Tensor{}, begins, out, lse);
  task.erase("attention scores");
}

void dropout(Task& task) {
  const Tensor p = task.read("attention probabilities");
  drop_probabilities(task, p, task.make("dropped probabilities", p.count));
}

void dropout_gradient(Task& task) {
  const Tensor dp = task.read("d attention probabilities");
  drop_probabilities(task, dp, task.make("d attention probabilities", dp.count));
}

Tensor weights_of_values(Task& task) {
  return task.read(task.c.dropout ? "dropped probabilities" : "attention probabilities");
}

void values(Task& task) {
  const Scores s(task);
  const Tensor p = weights_of_values(task);
  const Side v = read(task, Which::values);
  const Tensor out = task.make("attention by heads", task.c.tokens * task.c.heads * v.width);
  const Matmul each{s.tokens, v.width, s.tokens};
  s.for_each([&](std::int64_t b, std::int64_t j) {
    matmul(task, s, each, s.of(p, s.tokens, b, j), s.of(v, b, j), s.of(out, v.width, b, j));
  });
}

void transpose(Task& task) {
  const Tensor in = task.read("attention by heads"), out = task.make("attention", in.count);
  task.backend.strided_copy(kernels::head_transpose(task.c.batch, task.c.heads, task.c.sequence, task.c.value_head_dim),
                            in, out);
  task.erase("attention by heads");
}

void transpose_gradient(Task& task) {
  const Tensor in = whole_gradient(task, "attention"), out = task.make("d attention by heads", in.count);
  task.backend.strided_copy(kernels::head_transpose(task.c.batch, task.c.sequence, task.c.heads, task.c.value_head_dim),
                            in, out);
  if (!task.c.model.attention_sinks) return;
  const Attended all{task.read("attention"), task.read("attention lse")};
  add_sinks_gradient(task, attended_shape(task, task.c.sequence, all), 0, all, in);
}

void scores_gradient(Task& task) {
  const Scores s(task);
  const Tensor dout = task.read("d attention by heads"), out = task.make("d attention probabilities", s.count());
  const Side v = read(task, Which::values);
  const Matmul each{s.tokens, s.tokens, v.width, false, true};
  s.for_each([&](std::int64_t b, std::int64_t j) {
    matmul(task, s, each, s.of(dout, v.width, b, j), s.of(v, b, j), s.of(out, s.tokens, b, j));
  });
}

/// The heads of a group add up in their shared keys or values.
Matmul added(std::int64_t tokens, std::int64_t width, std::int64_t head_of_group, double alpha) {
  return {tokens, width, tokens, true, false, alpha, head_of_group == 0 ? 0.0 : 1.0};
}

void values_gradient(Task& task) {
  const Scores s(task);
  const Tensor dout = task.read("d attention by heads"), p = weights_of_values(task);
  const Side dv = gradient(task, Which::values);
  s.for_each([&](std::int64_t b, std::int64_t j) {
    matmul(task, s, added(s.tokens, dv.width, j, 1), s.of(p, s.tokens, b, j), s.of(dout, dv.width, b, j),
           s.of(dv, b, j));
  });
  task.erase("d attention by heads");
}

void softmax_gradient(Task& task) {
  const Tensor p = task.read("attention probabilities"), dp = task.read("d attention probabilities");
  task.backend.softmax_backward(mask(task), p, dp, task.make("d attention scores", p.count));
  task.erase("d attention probabilities");
}

void queries_gradient(Task& task) {
  const Scores s(task);
  const Tensor ds = task.read("d attention scores");
  const Side k = read(task, Which::keys), dq = gradient(task, Which::queries);
  const Matmul each{s.tokens, dq.width, s.tokens, false, false, scale(task)};
  s.for_each([&](std::int64_t b, std::int64_t j) {
    matmul(task, s, each, s.of(ds, s.tokens, b, j), s.of(k, b, j), s.of(dq, b, j));
  });
}

void keys_gradient(Task& task) {
  const Scores s(task);
  const Tensor ds = task.read("d attention scores");
  const Side q = read(task, Which::queries), dk = gradient(task, Which::keys);
  s.for_each([&](std::int64_t b, std::int64_t j) {
    matmul(task, s, added(s.tokens, dk.width, j, scale(task)), s.of(ds, s.tokens, b, j), s.of(q, b, j), s.of(dk, b, j));
  });
  task.erase("d attention scores");
}

}  // namespace

void add_written_scores_actions(Actions& actions) {
  actions["attention scores"] = scores;
  actions["attention mask"] = nothing;  // the softmax's kernel masks, in storage
  actions["attention mask gradient"] = nothing;
  actions["attention softmax"] = softmax;
  actions["attention dropout"] = dropout;
  actions["attention dropout gradient"] = dropout_gradient;
  actions["attention values"] = values;
  actions["attention transpose"] = transpose;
  actions["attention transpose gradient"] = transpose_gradient;
  actions["attention values: scores gradient"] = scores_gradient;
  actions["attention values: values gradient"] = values_gradient;
  actions["attention softmax gradient"] = softmax_gradient;
  actions["attention scores: queries gradient"] = queries_gradient;
  actions["attention scores: keys gradient"] = keys_gradient;
}

}  // namespace real
