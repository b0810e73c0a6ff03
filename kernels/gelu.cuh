// kernels/gelu.cuh -- GELU and its slope, as gelu.cu and the gate of glu.cu compute them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/device.cuh"
#include "kernels/gelu.h"

namespace kernels::gpu {

inline constexpr float kRootTwoOverPi = 0.7978845608f, kRootHalf = 0.7071067812f, kDensityOfZero = 0.3989422804f;
inline constexpr float kCubic = 0.044715f;

__device__ inline float gelu_value(Gelu kind, float x) {
  if (kind == Gelu::erf) return 0.5f * x * (1 + erff(x * kRootHalf));
  return 0.5f * x * (1 + tanhf(kRootTwoOverPi * (x + kCubic * x * x * x)));
}

__device__ inline float gelu_slope(Gelu kind, float x) {
  if (kind == Gelu::erf) return 0.5f * (1 + erff(x * kRootHalf)) + x * kDensityOfZero * __expf(-0.5f * x * x);
  const float t = tanhf(kRootTwoOverPi * (x + kCubic * x * x * x));
  return 0.5f * (1 + t) + 0.5f * x * (1 - t * t) * kRootTwoOverPi * (1 + 3 * kCubic * x * x);
}

}  // namespace kernels::gpu
