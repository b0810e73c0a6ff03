// SPDX-License-Identifier: Apache-2.0
#include "real/executor/blocks.h"

#include <limits>

#include "real/executor/dropout.h"

namespace real {
namespace {

/// One stretch out of several: where it begins in memory, and where in the sequence.
struct Piece {
  plan::Stretch stretch;
  std::int64_t at = 0, all = 0;  // tokens before it in memory; of all stretches
};

std::vector<Piece> pieces_of(const Stretches& stretches) {
  std::vector<Piece> out;
  std::int64_t at = 0;
  for (const plan::Stretch& stretch : stretches) {
    out.push_back({stretch, at, tokens_of(stretches)});
    at += stretch.length;
  }
  return out;
}

Tensor take(Backend& b, std::int64_t batch, const Piece& piece, const Tensor& all) {
  const std::int64_t width = all.count / (batch * piece.all), length = piece.stretch.length;
  const Tensor out = b.allocate(batch * length * width, Purpose{all.meaning});
  copy_rows(b, {batch, length, width, piece.all, piece.at, length, 0}, all, out);
  return out;
}

void put(Backend& b, std::int64_t batch, const Piece& piece, const Tensor& part, const Tensor& all) {
  const std::int64_t width = all.count / (batch * piece.all), length = piece.stretch.length;
  copy_rows(b, {batch, length, width, length, 0, piece.all, piece.at}, part, all);
}

void add_to(Backend& b, std::int64_t batch, const Piece& piece, const Tensor& part, const Tensor& all) {
  const Tensor sum = take(b, batch, piece, all);
  b.add(part, sum);
  put(b, batch, piece, sum, all);
}

/// Heads may be those of a part of the ranks (ulysses): their number follows from the tensors.
kernels::Attention shape(const Task& task, const Heads& heads, const Piece& queries, const Piece& keys,
                         plan::Mask mask) {
  kernels::Attention a = attention_shape(task, queries.stretch.length, keys.stretch.length);
  a.heads = heads.q.count / (a.batch * queries.all * a.head_dim);
  a.kv_heads = heads.k.count / (a.batch * keys.all * a.head_dim);
  a.causal = mask.causal;
  a.window = mask.window;
  a.offset = queries.stretch.begin - keys.stretch.begin;
  drop_in_kernel(task, heads.first, queries.stretch.begin, keys.stretch.begin, a);
  return a;
}

}  // namespace

std::int64_t tokens_of(const Stretches& stretches) {
  std::int64_t sum = 0;
  for (const plan::Stretch& stretch : stretches) sum += stretch.length;
  return sum;
}

Stretches stretches_of(const Task& task, int cp_rank) {
  return plan::stretches_of(cp_rank, task.c.cp, task.c.sequence, task.c.zigzag);
}

plan::Mask mask_of(const Task& task) { return {task.c.model.causal, task.c.model.window_of(task.op.layer)}; }

void copy_rows(Backend& backend, const RowCopy& r, const Tensor& from, const Tensor& to) {
  const kernels::StridedCopy copy{.size = {1, r.batch, r.length, r.width},
                                  .from_stride = {0, r.from_rows * r.width, r.width, 1},
                                  .to_stride = {0, r.to_rows * r.width, r.width, 1}};
  const std::int64_t first = r.from_at * r.width, second = r.to_at * r.width;
  backend.strided_copy(copy, from.part(first, from.count - first), to.part(second, to.count - second));
}

void reorder(Task& task, bool to_sequence, const Tensor& by_rank, const Tensor& in_order) {
  const std::int64_t batch = task.c.batch, own = task.c.sequence / task.c.cp, piece = by_rank.count / task.c.cp;
  const std::int64_t width = piece / (batch * own);
  for (int rank = 0; rank < task.c.cp; ++rank) {
    const Tensor of_rank = by_rank.part(rank * piece, piece);
    std::int64_t at = 0;
    for (const plan::Stretch& s : stretches_of(task, rank)) {
      if (to_sequence) {
        copy_rows(task.backend, {batch, s.length, width, own, at, task.c.sequence, s.begin}, of_rank, in_order);
      } else {
        copy_rows(task.backend, {batch, s.length, width, task.c.sequence, s.begin, own, at}, in_order, of_rank);
      }
      at += s.length;
    }
  }
}

Attended attend(Task& task, const Heads& heads, const Stretches& queries, const Stretches& keys, plan::Mask mask) {
  Backend& b = task.backend;
  const std::int64_t batch = task.c.batch;
  const std::int64_t rows = batch * heads.q.count / (batch * task.c.head_dim);  // tokens x heads
  const std::int64_t value_dim = task.c.value_head_dim;
  const Attended all{b.allocate(rows * value_dim), b.allocate(rows, kStatistic)};
  for (const Piece& query : pieces_of(queries)) {
    const Tensor q = take(b, batch, query, heads.q);
    Attended sum;
    for (const Piece& key : pieces_of(keys)) {
      const kernels::Attention a = shape(task, heads, query, key, mask);
      const std::int64_t part_rows = a.batch * a.heads * a.queries;
      const Attended part{b.allocate(part_rows * value_dim), b.allocate(part_rows, kStatistic)};
      b.attention_forward(a, q, take(b, batch, key, heads.k), take(b, batch, key, heads.v), part.out, part.lse);
      if (!sum.out) {
        sum = part;
      } else {
        b.attention_merge(a, part.out, part.lse, sum.out, sum.lse);
      }
    }
    const std::int64_t head_count = rows / (batch * query.all);
    put(b, batch, query, sum.out, all.out);
    put(b, batch * head_count, query, sum.lse, all.lse);
  }
  return all;
}

Heads attend_backward(Task& task, const Heads& heads, const Stretches& queries, const Stretches& keys, plan::Mask mask,
                      const Attended& all, const Tensor& dout) {
  Backend& b = task.backend;
  const std::int64_t batch = task.c.batch;
  const Heads d{b.allocate(heads.q.count), b.allocate(heads.k.count), b.allocate(heads.v.count)};
  for (const Tensor& sum : {d.q, d.k, d.v}) b.fill(sum, 0);
  for (const Piece& query : pieces_of(queries)) {
    const Tensor q = take(b, batch, query, heads.q), out = take(b, batch, query, all.out);
    const Tensor d_of_query = take(b, batch, query, dout);
    for (const Piece& key : pieces_of(keys)) {
      const kernels::Attention a = shape(task, heads, query, key, mask);
      const Tensor k = take(b, batch, key, heads.k), v = take(b, batch, key, heads.v);
      const Tensor lse = take(b, batch * a.heads, query, all.lse);
      const Heads part{b.allocate(q.count), b.allocate(k.count), b.allocate(v.count)};
      b.attention_backward(a, q, k, v, out, lse, d_of_query, part.q, part.k, part.v);
      add_to(b, batch, query, part.q, d.q);
      add_to(b, batch, key, part.k, d.k);
      add_to(b, batch, key, part.v, d.v);
    }
  }
  return d;
}

}  // namespace real
