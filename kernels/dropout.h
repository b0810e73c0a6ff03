// kernels/dropout.h -- dropout whose mask is a function of seed and place, so backward and recompute make it again.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>

#include "kernels/philox.h"
#include "kernels/types.h"

namespace kernels {

/// Element i of the array is place `offset` + i of the stream `seed`; a shard of a tensor names its own offset.
struct Dropout {
  double probability = 0;  // of dropping, below 1
  std::uint64_t seed = 0, offset = 0;

  auto operator<=>(const Dropout&) const = default;
};

/// Random words below this drop. 2^32 p, rounded.
KERNELS_HOST_DEVICE constexpr std::uint32_t dropout_threshold(double probability) {
  return static_cast<std::uint32_t>(probability * 4294967296.0 + 0.5);
}

/// Whether the stream keeps its element at `place`.
KERNELS_HOST_DEVICE constexpr bool dropout_keeps(const Dropout& d, std::uint32_t threshold, std::uint64_t place) {
  return philox(d.seed, place / 4).word[place % 4] >= threshold;
}

namespace reference {

/// y = x / (1 - p) where kept, else 0. Backward is the same function of dy. y may be x.
void dropout(const Dropout&, Input x, Output y);

}  // namespace reference

namespace gpu {

void dropout(const Dropout&, std::int64_t count, Element element, const void* x, void* y, Stream);

}  // namespace gpu
}  // namespace kernels
