// real/executor/actions/gathered.cpp -- context parallelism that gathers keys and values: each of the rank's stretches
// of queries is attended on the sequence up to its end. What an all-gather leaves lies rank by rank; it is put in the
// order of the sequence by the operator of that name or, where ranks hold neighbouring tokens and the Plan needs none,
// by the first reader. SPDX-License-Identifier: Apache-2.0
#include "real/executor/actions/context_parallel.h"
#include "real/executor/gradients.h"
#include "real/executor/sinks.h"

namespace real {
namespace {

/// [rows, keys and values of a token], out of tensors of their own and back into them.
Tensor side_by_side(Task& task, const Heads& heads, std::int64_t rows) {
  const std::int64_t k = key_width(task.c), v = value_width(task.c);
  const Tensor kv = task.backend.allocate(rows * (k + v));
  task.backend.strided_copy(kernels::row_pieces(rows, k, k, k + v), heads.k, kv);
  task.backend.strided_copy(kernels::row_pieces(rows, v, v, k + v), heads.v, kv.part(k, kv.count - k));
  return kv;
}

void apart(Task& task, const Tensor& kv, std::int64_t rows, Heads& heads) {
  const std::int64_t k = key_width(task.c), v = value_width(task.c);
  heads.k = task.backend.allocate(rows * k);
  heads.v = task.backend.allocate(rows * v);
  task.backend.strided_copy(kernels::row_pieces(rows, k, k + v, k), kv, heads.k);
  task.backend.strided_copy(kernels::row_pieces(rows, v, k + v, v), kv.part(k, kv.count - k), heads.v);
}

void gather(Task& task) {
  const Heads heads = attention_heads(task);
  const Tensor kv = side_by_side(task, heads, task.c.tokens);
  const Tensor all = task.make("gathered keys", kv.count * task.c.cp);
  expect_bytes(task, all.count, task.c.element);
  task.backend.all_gather(task.group(), kv, all);
  task.erase("keys in order");
}

void put_in_order(Task& task) {
  const Tensor all = task.read("gathered keys");
  reorder(task, true, all, task.make("keys in order", all.count));
}

Heads sequence_heads(Task& task) {
  if (!task.has("keys in order")) put_in_order(task);
  const Tensor kv = task.read("keys in order");
  Heads heads = attention_heads(task);
  apart(task, kv, task.c.batch * task.c.sequence, heads);
  return heads;
}

/// The Plan has one operator for all stretches where the mask is not causal and where documents share the sequence.
bool at_once(const Task& task) {
  return !task.c.model.causal || (task.c.document > 0 && task.c.document < task.c.sequence);
}

/// The operator's stretch of the rank's queries, alone, or all of them.
struct Chunk {
  Stretches queries;
  std::int64_t begin = 0, length = 0, all = 0;  // in the rank's memory
};

Chunk next_chunk(Task& task) {
  const Stretches own = stretches_of(task, task.rank.place.cp());
  const std::int64_t all = tokens_of(own);
  if (at_once(task)) return {own, 0, all, all};
  const std::int64_t n = task.next_piece(1, static_cast<std::int64_t>(own.size()));
  return {{own[n]}, n * own[0].length, own[n].length, all};
}

Tensor rows_of(Task& task, const Chunk& chunk, std::int64_t batch, const Tensor& all) {
  const std::int64_t width = all.count / (batch * chunk.all);
  const Tensor out = task.backend.allocate(batch * chunk.length * width, Purpose{all.meaning});
  copy_rows(task.backend, {batch, chunk.length, width, chunk.all, chunk.begin, chunk.length, 0}, all, out);
  return out;
}

void put_rows(Task& task, const Chunk& chunk, std::int64_t batch, const Tensor& part, const Tensor& all) {
  const std::int64_t width = all.count / (batch * chunk.all);
  copy_rows(task.backend, {batch, chunk.length, width, chunk.length, 0, chunk.all, chunk.begin}, part, all);
}

void forward(Task& task) {
  const Chunk chunk = next_chunk(task);
  Heads heads = sequence_heads(task);
  const std::int64_t batch = task.c.batch, rows = heads.q.count / task.c.head_dim;  // tokens x heads
  const bool first = chunk.begin == 0;
  heads.q = rows_of(task, chunk, batch, heads.q);
  const Attended part = attend(task, heads, of_each(task, chunk.queries), whole_sequences(task), mask_of(task));
  join_sinks(task, attended_shape(task, chunk.length, part), 0, part);
  const Tensor out = first ? task.make("attention", rows * task.c.value_head_dim) : task.read("attention");
  const Tensor lse = first ? task.make("attention lse", rows, kStatistic) : task.read("attention lse");
  put_rows(task, chunk, batch, part.out, out);
  put_rows(task, chunk, batch * task.c.heads, part.lse, lse);
}

void backward(Task& task) {
  const Chunk chunk = next_chunk(task);
  Heads heads = sequence_heads(task);
  const std::int64_t batch = task.c.batch, count = heads.q.count;
  heads.q = rows_of(task, chunk, batch, heads.q);
  const Attended all{rows_of(task, chunk, batch, task.read("attention")),
                     rows_of(task, chunk, batch * task.c.heads, task.read("attention lse"))};
  const Tensor dout = rows_of(task, chunk, batch, whole_gradient(task, "attention"));
  const Heads d =
      attend_backward(task, heads, of_each(task, chunk.queries), whole_sequences(task), mask_of(task), all, dout);
  add_sinks_gradient(task, attended_shape(task, chunk.length, all), 0, all, dout);
  const std::string part = chunk.begin == 0 ? "d keys in order" : "d keys in order, second";
  const char* queries = "d queries so far";
  const Tensor dq = chunk.begin == 0 ? task.make(queries, count) : task.read(queries);
  put_rows(task, chunk, batch, d.q, dq);
  task.leave(part, side_by_side(task, d, batch * task.c.sequence));
}

void add_gradients(Task& task) {
  if (at_once(task)) return;
  const Tensor a = task.read("d keys in order"), b = task.read("d keys in order, second");
  const Tensor sum = task.make("d keys in order", a.count);
  task.backend.sum(a, b, sum);
}

void gradients_by_rank(Task& task) {
  const Tensor in_order = task.read("d keys in order");
  reorder(task, false, task.make("d gathered keys", in_order.count), in_order);
}

void scatter(Task& task) {
  if (!task.has("d gathered keys")) gradients_by_rank(task);
  const Tensor all = task.read("d gathered keys"), own = task.backend.allocate(all.count / task.c.cp);
  expect_bytes(task, all.count, task.c.element);
  task.backend.reduce_scatter(task.group(), all, own);
  Heads d{task.read("d queries so far"), {}, {}};
  apart(task, own, task.c.tokens, d);
  leave_head_gradients(task, d);
}

}  // namespace

AttentionCore gathered_core() {
  return {.forward = forward, .backward = backward, .gradients_added = add_gradients, .keys_gathered = gather};
}

void add_gathered_actions(Actions& actions) {
  actions["keys and values in order"] = put_in_order;
  actions["key and value gradients in order"] = gradients_by_rank;
  actions["key and value gradients reduce-scatter"] = scatter;
}

}  // namespace real
