// real/executor/heads.h -- queries, keys and values as tensors of their own, out of packed rows and back into them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real/executor/task.h"

namespace real {

struct Heads {
  Tensor q, k, v;          // [tokens, width of each]
  std::int64_t first = 0;  // query head, among the rank's
};

/// Numbers of a token's keys and values on this rank, as attention reads them: of every query head where they are
/// copied there.
inline std::int64_t key_width(const plan::Context& c) { return std::int64_t{c.attention_kv_heads} * c.head_dim; }
inline std::int64_t value_width(const plan::Context& c) {
  return std::int64_t{c.attention_kv_heads} * c.value_head_dim;
}
inline bool copies_heads(const plan::Context& c) { return c.attention_kv_heads > c.kv_heads; }
inline constexpr const char *kCopiedKeys = "copied keys", *kCopiedValues = "copied values";
/// Where the kernel wants values as wide as queries.
bool pads_values(const Task&);

/// Packed queries, keys and values in front of the rotary embedding: as the matmul left them, or normed.
inline const char* unturned_name(const Task& task) { return task.c.model.qk_norm ? "normed qkv" : "qkv"; }

/// What attention reads: rotated where the layer has a rotary embedding.
inline const char* packed_name(const Task& task) {
  return task.c.model.ropes_in(task.op.layer) ? "rotated" : unturned_name(task);
}

/// Out of packed rows of queries, keys, values.
Heads split_heads(Task&, const Tensor& packed);
void join_heads(Task&, const Heads&, const Tensor& packed);

/// What attention reads, and its gradient.
Heads attention_heads(Task&);
void leave_head_gradients(Task&, const Heads&);

/// Attention of this rank's heads on `queries` x `keys` tokens, no mask.
kernels::Attention attention_shape(const Task&, std::int64_t queries, std::int64_t keys);

/// Linear biases of the model's positions, where it has them; the kernel's heads begin with the rank's `first`.
kernels::Alibi alibi_of(const Task&, std::int64_t first);

}  // namespace real
