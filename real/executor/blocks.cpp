// SPDX-License-Identifier: Apache-2.0
#include "real/executor/blocks.h"

#include <algorithm>

#include "real/executor/documents.h"
#include "real/executor/dropout.h"

namespace real {
namespace {

/// What lies in one span of a stretch out of several: where it begins in memory, and where in the sequence.
struct Piece {
  plan::Stretch stretch;
  std::int64_t at = 0, all = 0;  // tokens before it in memory; of all stretches
  std::int64_t span = 0;         // where its span begins
};

std::vector<Piece> pieces_of(const Stretches& stretches, const Stretches& spans) {
  std::vector<Piece> out;
  std::int64_t at = 0;
  for (const plan::Stretch& stretch : stretches) {
    for (std::int64_t begin = stretch.begin, end = stretch.begin + stretch.length; begin < end;) {
      const plan::Stretch& span = document_at(spans, begin);
      const std::int64_t length = std::min(end, span.begin + span.length) - begin;
      out.push_back({{begin, length}, at, tokens_of(stretches), span.begin});
      at += length;
      begin += length;
    }
  }
  return out;
}

/// Whether a query of the one may see a key of the other.
bool meet(const Piece& query, const Piece& key, plan::Mask mask) {
  if (key.span != query.span) return false;
  const std::int64_t last_query = query.stretch.begin + query.stretch.length - 1;
  const std::int64_t last_key = key.stretch.begin + key.stretch.length - 1;
  return (!mask.causal || last_query >= key.stretch.begin) &&
         (mask.window == 0 || query.stretch.begin - last_key < mask.window);
}

/// Sequences of a microbatch that have the same documents: all of them, or each one by itself.
struct Sequences {
  std::int64_t first, count;
  Stretches spans;

  /// Theirs of a tensor of `batch` sequences.
  Tensor of(const Tensor& x, std::int64_t batch) const {
    return x.part(first * (x.count / batch), count * (x.count / batch));
  }
  Heads of(const Heads& h, std::int64_t batch) const {
    return {of(h.q, batch), of(h.k, batch), of(h.v, batch), h.first};
  }
};

std::vector<Sequences> sequences_of(const Task& task) {
  if (!packs(task)) return {{0, task.c.batch, spans_of(task, 0)}};
  std::vector<Sequences> out;
  for (std::int64_t b = 0; b < task.c.batch; ++b) out.push_back({b, 1, spans_of(task, b)});
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
kernels::Attention shape(const Task& task, const Sequences& sequences, const Heads& heads, const Piece& queries,
                         const Piece& keys, plan::Mask mask) {
  kernels::Attention a = attention_shape(task, queries.stretch.length, keys.stretch.length);
  a.batch = sequences.count;
  a.heads = heads.q.count / (a.batch * queries.all * a.head_dim);
  a.kv_heads = heads.k.count / (a.batch * keys.all * a.head_dim);
  a.causal = mask.causal;
  a.window = mask.window;
  a.offset = queries.stretch.begin - keys.stretch.begin;
  a.alibi = alibi_of(task, heads.first);
  drop_in_kernel(task, {sequences.first, heads.first, queries.stretch.begin, keys.stretch.begin}, a);
  return a;
}

Attended attend(Task& task, const kernels::Attention& a, const Tensor& q, const Tensor& k, const Tensor& v) {
  const std::int64_t rows = a.batch * a.heads * a.queries;
  const Attended part{task.backend.allocate(rows * a.value_dim), task.backend.allocate(rows, kStatistic)};
  task.backend.attention_forward(a, q, k, v, part.out, part.lse);
  return part;
}

void attend(Task& task, const Sequences& sequences, const Heads& heads, const Share& queries, const Share& keys,
            plan::Mask mask, const Attended& all) {
  Backend& b = task.backend;
  const std::int64_t batch = sequences.count;
  const std::vector<Piece> key_pieces = pieces_of(keys[sequences.first], sequences.spans);
  for (const Piece& query : pieces_of(queries[sequences.first], sequences.spans)) {
    const Tensor q = take(b, batch, query, heads.q);
    Attended sum;
    for (const Piece& key : key_pieces) {
      if (!meet(query, key, mask)) continue;
      const kernels::Attention a = shape(task, sequences, heads, query, key, mask);
      const Attended part = attend(task, a, q, take(b, batch, key, heads.k), take(b, batch, key, heads.v));
      if (!sum.out) {
        sum = part;
      } else {
        b.attention_merge(a, part.out, part.lse, sum.out, sum.lse);
      }
    }
    if (!sum.out) {
      const Piece none{{query.stretch.begin, 0}, 0, tokens_of(keys[sequences.first]), query.span};
      sum = attend(task, shape(task, sequences, heads, query, none, mask), q, heads.k.part(0, 0), heads.v.part(0, 0));
    }
    const std::int64_t head_count = all.lse.count / (batch * query.all);
    put(b, batch, query, sum.out, all.out);
    put(b, batch * head_count, query, sum.lse, all.lse);
  }
}

void attend_backward(Task& task, const Sequences& sequences, const Heads& heads, const Share& queries,
                     const Share& keys, plan::Mask mask, const Attended& all, const Tensor& dout, const Heads& d) {
  Backend& b = task.backend;
  const std::int64_t batch = sequences.count;
  const std::vector<Piece> key_pieces = pieces_of(keys[sequences.first], sequences.spans);
  for (const Piece& query : pieces_of(queries[sequences.first], sequences.spans)) {
    const Tensor q = take(b, batch, query, heads.q), out = take(b, batch, query, all.out);
    const Tensor d_of_query = take(b, batch, query, dout);
    for (const Piece& key : key_pieces) {
      if (!meet(query, key, mask)) continue;
      const kernels::Attention a = shape(task, sequences, heads, query, key, mask);
      const Tensor k = take(b, batch, key, heads.k), v = take(b, batch, key, heads.v);
      const Tensor lse = take(b, batch * a.heads, query, all.lse);
      const Heads part{b.allocate(q.count), b.allocate(k.count), b.allocate(v.count)};
      b.attention_backward(a, q, k, v, out, lse, d_of_query, part.q, part.k, part.v);
      add_to(b, batch, query, part.q, d.q);
      add_to(b, batch, key, part.k, d.k);
      add_to(b, batch, key, part.v, d.v);
    }
  }
}

}  // namespace

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

Attended attend(Task& task, const Heads& heads, const Share& queries, const Share& keys, plan::Mask mask) {
  const std::int64_t batch = task.c.batch, rows = heads.q.count / task.c.head_dim;  // tokens x heads
  const std::int64_t value_dim = attention_shape(task, 0, 0).value_dim;
  const Attended all{task.backend.allocate(rows * value_dim), task.backend.allocate(rows, kStatistic)};
  for (const Sequences& some : sequences_of(task)) {
    attend(task, some, some.of(heads, batch), queries, keys, mask, {some.of(all.out, batch), some.of(all.lse, batch)});
  }
  return all;
}

Heads attend_backward(Task& task, const Heads& heads, const Share& queries, const Share& keys, plan::Mask mask,
                      const Attended& all, const Tensor& dout) {
  Backend& b = task.backend;
  const std::int64_t batch = task.c.batch;
  const Heads d{b.allocate(heads.q.count), b.allocate(heads.k.count), b.allocate(heads.v.count)};
  for (const Tensor& sum : {d.q, d.k, d.v}) b.fill(sum, 0);
  for (const Sequences& some : sequences_of(task)) {
    attend_backward(task, some, some.of(heads, batch), queries, keys, mask,
                    {some.of(all.out, batch), some.of(all.lse, batch)}, some.of(dout, batch), some.of(d, batch));
  }
  return d;
}

}  // namespace real
