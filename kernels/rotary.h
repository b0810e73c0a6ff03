// kernels/rotary.h -- rotary position embedding of query and key heads.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/types.h"

namespace kernels {

/// Turns pair i of a head at position p by the angle p base^(-2 i / rotary_dim); other elements than these
/// rotary_dim are left alone. Source: Su et al., RoFormer, 2021.
struct Rotary {
  std::int64_t tokens = 0, heads = 0, head_dim = 0;
  std::int64_t rotary_dim = 0;  // even, at most head_dim
  std::int64_t token_stride =
      0;  // elements from one token's first head to the next one's: heads may lie in a packed QKV
  double base = 10000;
  bool interleaved = false;  // pairs (2 i, 2 i + 1), else (i, i + rotary_dim / 2) as Llama has them
  std::int64_t first = 0;    // of a head, its first element that is turned
  double scale = 1;          // of what is turned, in both directions (YaRN)
};

enum class Direction { forward, backward };

namespace reference {

/// from and to: tokens of token_stride elements; what is not turned is the same. positions [tokens]: place of each
/// token in its sequence, so that a shard of a sequence (context parallel, zigzag too) names its own. Backward turns
/// the other way.
void rotary(const Rotary&, Direction, Indices positions, Input from, Output to);

}  // namespace reference

namespace gpu {

/// `to` may be `from`. Apart from it, all of each token is written.
void rotary(const Rotary&, Direction, Element element, const std::int32_t* positions, const void* from, void* to,
            Stream);

}  // namespace gpu
}  // namespace kernels
