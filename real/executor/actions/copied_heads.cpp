// real/executor/actions/copied_heads.cpp -- keys and values copied to every query head before attention, as frameworks
// do whose kernels know no groups of query heads, and their gradients summed over the heads of a group.
// SPDX-License-Identifier: Apache-2.0
#include "real/executor/actions.h"
#include "real/executor/heads.h"

namespace real {
namespace {

/// Out of packed rows, from column `first` on, in one kernel.
void copy(Task& task, const char* name, std::int64_t first) {
  const plan::Context& c = task.c;
  const std::int64_t sharing = c.heads / c.kv_heads, width = c.head_dim;
  const Tensor packed = task.read(packed_name(task));
  task.backend.strided_copy({.size = {c.tokens, c.kv_heads, sharing, width},
                             .from_stride = {c.qkv_width, width, 0, 1},
                             .to_stride = {c.heads * width, sharing * width, width, 1}},
                            packed.part(first, packed.count - first), task.make(name, c.tokens * c.heads * width));
}

/// In fp32, as a reduction kernel does.
Tensor summed(Task& task, const Tensor& copies) {
  const plan::Context& c = task.c;
  const std::int64_t rows = c.tokens * c.kv_heads, sharing = c.heads / c.kv_heads, width = c.head_dim;
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
  copy(task, kCopiedKeys, task.c.q_width);
  copy(task, kCopiedValues, task.c.q_width + task.c.kv_width);
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
