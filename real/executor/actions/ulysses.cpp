// real/executor/actions/ulysses.cpp -- context parallelism that trades tokens for heads: each rank attends the whole
// sequence with its share of the heads. A tensor is traded in pieces by their new owner; heads of keys and values that
// are fewer than ranks go to each rank that has queries of theirs, and the gradients of these copies are summed when
// they are unpacked. SPDX-License-Identifier: Apache-2.0
#include <array>

#include "core/spec/context_rules.h"
#include "real/executor/actions/context_parallel.h"
#include "real/executor/gradients.h"
#include "real/executor/sinks.h"

namespace real {
namespace {

/// Heads of one kind: of all ranks' tokens cut by tokens, of a rank's share cut by heads.
struct Kind {
  std::int64_t heads, share;  // on a rank before the trade, behind it
  std::int64_t dim;
  /// The first head that goes to `rank`.
  std::int64_t first_of(int rank, int cp) const { return share * cp == heads ? rank * share : rank * heads / cp; }
};

Kind queries_of(const Task& task) {
  return {task.c.heads, spec::ulysses_share(task.rank.job).queries, task.c.head_dim};
}
Kind outputs_of(const Task& task) {
  return {task.c.heads, spec::ulysses_share(task.rank.job).queries, task.c.value_head_dim};
}
Kind keys_of(const Task& task) { return {task.c.kv_heads, spec::ulysses_share(task.rank.job).keys, task.c.head_dim}; }
Kind values_of(const Task& task) {
  return {task.c.kv_heads, spec::ulysses_share(task.rank.job).keys, task.c.value_head_dim};
}

/// Own tokens, all heads -> a piece for each rank, its heads of the own tokens.
Tensor packed_by_heads(Task& task, const Tensor& x, Kind kind) {
  const std::int64_t d = kind.dim, rows = task.c.tokens, piece = rows * kind.share * d;
  const Tensor out = task.backend.allocate(piece * task.c.cp);
  for (int rank = 0; rank < task.c.cp; ++rank) {
    const std::int64_t first = kind.first_of(rank, task.c.cp) * d;
    task.backend.strided_copy(kernels::row_pieces(rows, kind.share * d, kind.heads * d, kind.share * d),
                              x.part(first, x.count - first), out.part(rank * piece, piece));
  }
  return out;
}

/// The other way; what several ranks bring of one head is added up.
void unpack_by_heads(Task& task, const Tensor& pieces, Kind kind, const Tensor& x) {
  const std::int64_t d = kind.dim, rows = task.c.tokens, piece = rows * kind.share * d;
  task.backend.fill(x, 0);
  for (int rank = 0; rank < task.c.cp; ++rank) {
    const std::int64_t first = kind.first_of(rank, task.c.cp) * d;
    const Tensor sum = task.backend.allocate(piece), at = x.part(first, x.count - first);
    task.backend.strided_copy(kernels::row_pieces(rows, kind.share * d, kind.heads * d, kind.share * d), at, sum);
    task.backend.add(pieces.part(rank * piece, piece), sum);
    task.backend.strided_copy(kernels::row_pieces(rows, kind.share * d, kind.share * d, kind.heads * d), sum, at);
  }
}

Tensor in_order(Task& task, const char* pieces) {
  const Tensor from = task.read(pieces), to = task.backend.allocate(from.count);
  reorder(task, true, from, to);
  return to;
}

Tensor by_rank(Task& task, const Tensor& x) {
  const Tensor out = task.backend.allocate(x.count);
  reorder(task, false, out, x);
  return out;
}

/// What is traded under each name: tokens for heads on the way in, heads for tokens on the way out.
Tensor outgoing(Task& task, const std::string& what) {
  if (what == "attention output gradient") {
    return packed_by_heads(task, whole_gradient(task, "attention"), outputs_of(task));
  }
  if (what == "queries" || what == "keys" || what == "values") {
    const Heads heads = attention_heads(task);
    if (what == "queries") return packed_by_heads(task, heads.q, queries_of(task));
    return what == "keys" ? packed_by_heads(task, heads.k, keys_of(task))
                          : packed_by_heads(task, heads.v, values_of(task));
  }
  return by_rank(task, task.read(what + " of own heads"));
}

void pack(Task& task, const std::string& what) {
  const Tensor pieces = outgoing(task, what);
  task.backend.copy(pieces, task.make(what + " packed", pieces.count));
}

void trade(Task& task, const std::string& what) {
  if (!task.has(what + " packed")) pack(task, what);
  const Tensor from = task.read(what + " packed"), to = task.make(what + " traded", from.count);
  expect_bytes(task, from.count, task.c.element);
  const std::vector<std::int64_t> pieces(task.c.cp, from.count / task.c.cp);
  task.backend.all_to_all(task.group(), pieces, from, pieces, to);
  task.erase(what + " packed");
}

Heads traded_heads(Task& task) {
  return {in_order(task, "queries traded"), in_order(task, "keys traded"), in_order(task, "values traded"),
          queries_of(task).first_of(task.rank.place.cp(), task.c.cp)};
}

void forward(Task& task) {
  const Heads heads = traded_heads(task);
  const Share whole = whole_sequences(task);
  const Attended all = attend(task, heads, whole, whole, mask_of(task));
  join_sinks(task, attended_shape(task, task.c.sequence, all), heads.first, all);
  task.backend.copy(all.out, task.make("attention output of own heads", all.out.count));
  task.backend.copy(all.lse, task.make("attention lse", all.lse.count, kStatistic));
}

void unpack_output(Task& task) {
  const Tensor pieces = task.read("attention output traded");
  unpack_by_heads(task, pieces, outputs_of(task), task.make("attention", task.c.tokens * task.c.context_width));
}

void backward(Task& task) {
  const Attended all{task.read("attention output of own heads"), task.read("attention lse")};
  const Heads heads = traded_heads(task);
  const Tensor dout = in_order(task, "attention output gradient traded");
  const Share whole = whole_sequences(task);
  const Heads d = attend_backward(task, heads, whole, whole, mask_of(task), all, dout);
  add_sinks_gradient(task, attended_shape(task, task.c.sequence, all), heads.first, all, dout);
  task.backend.copy(d.q, task.make("query gradient of own heads", d.q.count));
  task.backend.copy(d.k, task.make("key gradient of own heads", d.k.count));
  task.backend.copy(d.v, task.make("value gradient of own heads", d.v.count));
}

void unpack_gradients(Task& task) {
  const plan::Context& c = task.c;
  const Heads d{task.backend.allocate(c.tokens * c.q_width), task.backend.allocate(c.tokens * c.kv_width),
                task.backend.allocate(c.tokens * value_width(c))};
  unpack_by_heads(task, task.read("query gradient traded"), queries_of(task), d.q);
  unpack_by_heads(task, task.read("key gradient traded"), keys_of(task), d.k);
  unpack_by_heads(task, task.read("value gradient traded"), values_of(task), d.v);
  leave_head_gradients(task, d);
}

}  // namespace

AttentionCore ulysses_core() { return {forward, backward}; }

void add_ulysses_actions(Actions& actions) {
  const std::array<std::string, 8> traded{
      "queries",        "keys",         "values",        "attention output", "attention output gradient",
      "query gradient", "key gradient", "value gradient"};
  for (const std::string& what : traded) {
    actions[what + " packed"] = [what](Task& t) { pack(t, what); };
    actions[what + " all-to-all"] = [what](Task& t) { trade(t, what); };
  }
  actions["sequence in order"] = nothing;  // readers put what arrived in order, as where ranks hold neighbouring tokens
  actions["attention output unpacked"] = unpack_output;
  actions["attention gradients unpacked"] = unpack_gradients;
}

}  // namespace real
