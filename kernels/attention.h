// kernels/attention.h -- softmax(Q K^T) V, whole or over blocks of keys whose results are merged, as ring attention
// does. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>

#include "kernels/alibi.h"
#include "kernels/dropout.h"
#include "kernels/types.h"

namespace kernels {

/// q [batch, queries, heads, head_dim], k [batch, keys, kv_heads, head_dim], v [batch, keys, kv_heads, value_dim], out
/// as q with value_dim, lse [batch, heads, queries] fp32 on the GPU. Query head h reads K/V head h / (heads /
/// kv_heads). Query i stands at i + offset, where key j stands at j: causal sees j <= i + offset; a window of w the
/// last w of these.
struct Attention {
  std::int64_t batch = 0, queries = 0, keys = 0, heads = 0, kv_heads = 0, head_dim = 0, value_dim = 0;
  double scale = 1;  // of the scores: 1 / sqrt(head_dim) as a rule
  bool causal = false;
  std::int64_t offset = 0;
  std::int64_t window = 0;  // 0: all
  Dropout dropout = {};     // of the probabilities; lse is of all of them
  /// From a sequence, a head, a query to the next in the stream of the dropout; keys are neighbours.
  struct Places {
    std::int64_t sequence = 0, head = 0, query = 0;
    auto operator<=>(const Places&) const = default;
  } places = {};
  Alibi alibi = {};  // by head; distances are of places

  auto operator<=>(const Attention&) const = default;
  /// What a library judges and plans: all but the numbers that dropout draws, which are others in each microbatch.
  constexpr Attention planned() const {
    Attention a = *this;
    a.dropout.seed = a.dropout.offset = 0;
    a.places = {};
    return a;
  }

  constexpr bool sees(std::int64_t query, std::int64_t key) const {
    const std::int64_t behind = query + offset - key;
    return (!causal || behind >= 0) && (window == 0 || behind < window);
  }
  KERNELS_HOST_DEVICE double bias(std::int64_t head, std::int64_t query, std::int64_t key) const {
    return alibi.heads == 0 ? 0 : alibi.bias(head, query + offset - key);
  }
  /// Where the stream of the dropout has the query's first key.
  KERNELS_HOST_DEVICE constexpr std::uint64_t place_of(std::int64_t sequence, std::int64_t head,
                                                       std::int64_t query) const {
    return dropout.offset +
           static_cast<std::uint64_t>(sequence * places.sequence + head * places.head + query * places.query);
  }
};

namespace reference {

/// lse = log of the sum of exp(scores); a query that sees no key, or there is none, has lse = -infinity and out = 0.
void attention_forward(const Attention&, Input q, Input k, Input v, Output out, Output lse);

/// Takes other_out and other_lse, of the same queries over other keys, into out and lse: afterwards these are those of
/// both sets of keys together. Source: Liu, Zaharia, Abbeel, "Ring Attention", 2023.
void attention_merge(const Attention&, Input other_out, Input other_lse, Output out, Output lse);

/// Writes dq, dk and dv. out, lse and dout belong to all keys; k, v, dk and dv may be one block of them: the dq of the
/// blocks then add up. Source: Dao, "FlashAttention-2", 2023, algorithm 2.
void attention_backward(const Attention&, Input q, Input k, Input v, Input out, Input lse, Input dout, Output dq,
                        Output dk, Output dv);

}  // namespace reference

namespace gpu {

/// Plain and slow: for shapes that no library takes, and to check those against. REQUIRES: dimensions <= 256.
void attention_forward(const Attention&, Element element, const void* q, const void* k, const void* v, void* out,
                       float* lse, Stream);
void attention_merge(const Attention&, Element element, const void* other_out, const float* other_lse, void* out,
                     float* lse, Stream);
void attention_backward(const Attention&, Element element, const void* q, const void* k, const void* v, const void* out,
                        const float* lse, const void* dout, void* dq, void* dk, void* dv, Stream);

}  // namespace gpu
}  // namespace kernels
