// kernels/softmax.h -- the softmax of attention whose scores are written out, under a mask.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/alibi.h"
#include "kernels/types.h"

namespace kernels {

/// Of `matrices` matrices of scores [queries, keys], one for each head of each sequence. Query i and key i stand at
/// place i; causal sees j <= i, a window of w the last w of these, a chunk of c those of the same c tokens.
struct Softmax {
  std::int64_t matrices = 0, queries = 0, keys = 0;
  bool causal = false;
  std::int64_t window = 0, chunk = 0;  // 0: all
  std::int64_t heads = 1;              // matrix m is of head m % heads
  Alibi alibi = {};                    // added to the scores

  constexpr bool sees(std::int64_t query, std::int64_t key) const {
    if (causal && key > query) return false;
    if (window > 0 && query - key >= window) return false;
    return chunk == 0 || query / chunk == key / chunk;
  }
};

namespace reference {

/// A key that is not seen has probability 0. begins [matrices / heads, queries]: where each token's document begins, of
/// which it sees no other; may be empty. sinks [heads], a logit that takes part and has no key (attention_sinks.h),
/// and lse [matrices, queries], the log of the sum of all exponentials, may be empty. REQUIRES: every query sees a key.
void softmax_forward(const Softmax&, Input scores, Input sinks, Indices begins, Output probabilities, Output lse);
/// dscores = p (dp - sum of p dp), row by row.
void softmax_backward(const Softmax&, Input probabilities, Input dprobabilities, Output dscores);

}  // namespace reference

namespace gpu {

/// sinks, begins, lse: null where there are none.
void softmax_forward(const Softmax&, Element element, const void* scores, const void* sinks, const std::int32_t* begins,
                     void* probabilities, float* lse, Stream);
void softmax_backward(const Softmax&, Element element, const void* probabilities, const void* dprobabilities,
                      void* dscores, Stream);

}  // namespace gpu
}  // namespace kernels
