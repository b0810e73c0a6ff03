// real/executor/actions/copied_heads.cpp -- keys and values copied to every query head before attention, as frameworks
// do whose kernels know no groups of query heads, and their gradients summed over the heads of a group.
// SPDX-License-Identifier: Apache-2.0
#include "real/executor/actions.h"
#include "real/executor/heads.h"

namespace real {
namespace {

/// Numbers of a head in memory, and how many query heads share one of keys and values.
struct Groups {
  std::int64_t rows, sharing, width;  // rows: tokens x heads of keys
};

Groups groups_of(const Task& task) {
  const plan::Context& c = task.c;
  return {c.tokens * c.kv_heads, c.heads / c.kv_heads, c.head_dim};
}

Tensor copied(Task& task, const char* name, const Tensor& heads) {
  const auto [rows, sharing, width] = groups_of(task);
  const Tensor out = task.make(name, heads.count * sharing);
  task.backend.strided_copy(
      {.size = {1, rows, sharing, width}, .from_stride = {0, width, 0, 1}, .to_stride = {0, sharing * width, width, 1}},
      heads, out);
  return out;
}

/// In fp32, as a reduction kernel does.
Tensor summed(Task& task, const Tensor& copies) {
  const auto [rows, sharing, width] = groups_of(task);
  const Tensor one = task.backend.allocate(rows * width), sum = task.backend.allocate(rows * width, kNumbers);
  for (std::int64_t i = 0; i < sharing; ++i) {
    task.backend.strided_copy(kernels::row_pieces(rows, width, sharing * width, width),
                              copies.part(i * width, copies.count - i * width), one);
    task.backend.scale_add(1, one, i == 0 ? 0 : 1, sum);
  }
  task.backend.copy(sum, one);
  return one;
}

/// Kernels that write their scores read each head where it lies: there the copies are made, and nobody reads them.
void copy_to_heads(Task& task) {
  const Heads heads = split_heads(task, task.read(packed_name(task)));
  copied(task, kCopiedKeys, heads.k);
  copied(task, kCopiedValues, heads.v);
}

void sum_over_heads(Task& task) {
  if (!task.has("d queries apart")) return;
  join_heads(task,
             {task.read("d queries apart"), summed(task, task.read("d copied keys")),
              summed(task, task.read("d copied values"))},
             task.make(std::string("d ") + packed_name(task), task.c.tokens * task.c.qkv_width));
}

}  // namespace

void add_copied_heads_actions(Actions& actions) {
  actions["keys and values copied to heads"] = copy_to_heads;
  actions["key and value gradients summed over heads"] = sum_over_heads;
}

}  // namespace real
