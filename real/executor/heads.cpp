// SPDX-License-Identifier: Apache-2.0
#include "real/executor/heads.h"

#include <array>
#include <cmath>

#include "core/plan/mla.h"

namespace real {
namespace {

/// `body(tensor, first column, width)` for queries, keys and values.
template <class Body>
void for_each_part(const Task& task, const Heads& heads, Body body) {
  const plan::Context& c = task.c;
  body(heads.q, 0, c.q_width);
  body(heads.k, c.q_width, c.kv_width);
  body(heads.v, c.q_width + c.kv_width, c.kv_width);
}

/// Of packed rows, as a tensor of their own.
Tensor columns_of(Task& task, const Tensor& packed, std::int64_t first, std::int64_t width) {
  const std::int64_t rows = packed.count / task.c.qkv_width;
  const Tensor out = task.backend.allocate(rows * width);
  task.backend.strided_copy(kernels::row_pieces(rows, width, task.c.qkv_width, width),
                            packed.part(first, packed.count - first), out);
  return out;
}

}  // namespace

Heads split_heads(Task& task, const Tensor& packed) {
  const plan::Context& c = task.c;
  return {columns_of(task, packed, 0, c.q_width), columns_of(task, packed, c.q_width, c.kv_width),
          columns_of(task, packed, c.q_width + c.kv_width, c.kv_width)};
}

void join_heads(Task& task, const Heads& heads, const Tensor& packed) {
  const plan::Context& c = task.c;
  const std::int64_t rows = packed.count / c.qkv_width;
  for_each_part(task, heads, [&](const Tensor& part, std::int64_t first, std::int64_t width) {
    task.backend.strided_copy(kernels::row_pieces(rows, width, width, c.qkv_width), part,
                              packed.part(first, packed.count - first));
  });
}

bool pads_values(const Task& task) { return task.c.model.mla && task.c.cp == 1 && plan::pads_values(task.c); }

Heads attention_heads(Task& task) {
  if (copies_heads(task.c)) {
    return {columns_of(task, task.read(packed_name(task)), 0, task.c.q_width), task.read(kCopiedKeys),
            task.read(kCopiedValues)};
  }
  if (!task.c.model.mla) return split_heads(task, task.read(packed_name(task)));
  return {task.read("queries"), task.read("keys"), task.read(pads_values(task) ? "padded values" : "values")};
}

void leave_head_gradients(Task& task, const Heads& d) {
  if (copies_heads(task.c)) {  // summed by an operator of their own
    task.leave("d queries apart", d.q);
    task.leave("d copied keys", d.k);
    task.leave("d copied values", d.v);
    return;
  }
  if (!task.c.model.mla) {
    return join_heads(task, d, task.make(std::string("d ") + packed_name(task), task.c.tokens * task.c.qkv_width));
  }
  task.leave("d queries", d.q);
  task.leave("d keys", d.k);
  task.leave(pads_values(task) ? "d padded values" : "d values", d.v);
}

kernels::Attention attention_shape(const Task& task, std::int64_t queries, std::int64_t keys) {
  const plan::Context& c = task.c;
  const int value_dim = pads_values(task) ? c.head_dim : c.value_head_dim;
  kernels::Attention a{c.batch, queries, keys, c.heads, c.attention_kv_heads, c.head_dim, value_dim};
  a.scale = 1 / std::sqrt(static_cast<double>(c.head_dim));
  return a;
}

kernels::Alibi alibi_of(const Task& task, std::int64_t first) {
  const spec::Model& m = task.c.model;
  if (m.position != spec::Position::alibi) return {};
  return {m.heads, task.rank.place.tp() * std::int64_t{task.c.heads} + first};
}

}  // namespace real
