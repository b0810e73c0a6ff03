// real/executor/heads.h -- queries, keys and values as tensors of their own, out of packed rows and back into them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real/executor/task.h"

namespace real {

struct Heads {
  Tensor q, k, v;  // [tokens, width of each]
};

/// Packed queries, keys and values in front of the rotary embedding: as the matmul left them, or normed.
inline const char* unturned_name(const Task& task) { return task.c.model.qk_norm ? "normed qkv" : "qkv"; }

/// What attention reads: rotated where the model has rotary embeddings.
inline const char* packed_name(const Task& task) {
  return task.c.model.position == spec::Position::rope ? "rotated" : unturned_name(task);
}

/// Out of packed rows of queries, keys, values.
Heads split_heads(Task&, const Tensor& packed);
void join_heads(Task&, const Heads&, const Tensor& packed);

/// Attention of this rank's heads on `queries` x `keys` tokens, no mask.
kernels::Attention attention_shape(const Task&, std::int64_t queries, std::int64_t keys);

}  // namespace real
