// kernels/fp8.cuh -- codes of 8 bits as the casts' kernels make them. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_fp8.h>

#include <cstdint>

#include "kernels/device.cuh"
#include "kernels/fp8.h"

namespace kernels::gpu {

/// Nearest code; beyond the largest finite value the largest.
__device__ inline std::uint8_t code_of(Fp8 format, float x) {
  return format == Fp8::e4m3 ? __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3)
                             : __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E5M2);
}

/// Divides many numbers by one scale in half of a division's instructions: by its reciprocal, whose error is mended.
/// Scales near the ends of what floats hold are moved away from there, and the numbers with them.
class Divisor {
 public:
  __device__ explicit Divisor(float scale)
      : factor_(scale < 0x1p-60f  ? 0x1p64f
                : scale > 0x1p60f ? 0x1p-64f
                                  : 1),
        inverse_(1 / (scale * factor_)),
        minus_scale_(inverse_ > 0 ? -scale * factor_ : 0) {}

  template <class T, int V>
  __device__ Pack<float, V> quotients(const Pack<T, V>& x) const {
    Pack<float, V> out;
    for (int j = 0; j < V; ++j) {
      const float moved = x[j] * factor_, q = moved * inverse_;
      // Others are beyond all codes, or infinite.
      out.element[j] = fabsf(q) < 1e6f ? fmaf(fmaf(q, minus_scale_, moved), inverse_, q) : q;
    }
    return out;
  }

 private:
  float factor_, inverse_, minus_scale_;
};

template <__nv_fp8_interpretation_t kFormat, int V>
__device__ Pack<std::uint8_t, V> codes_as(const Pack<float, V>& x) {
  Pack<std::uint8_t, V> codes;
  if constexpr (V == 1) {
    codes.element[0] = __nv_cvt_float_to_fp8(x.element[0], __NV_SATFINITE, kFormat);
  } else {
    for (int j = 0; j < V; j += 2) {  // the GPU's instruction takes two
      const unsigned two = __nv_cvt_float2_to_fp8x2({x.element[j], x.element[j + 1]}, __NV_SATFINITE, kFormat);
      codes.element[j] = static_cast<std::uint8_t>(two);
      codes.element[j + 1] = static_cast<std::uint8_t>(two >> 8);
    }
  }
  return codes;
}

template <int V>
__device__ Pack<std::uint8_t, V> codes_of(Fp8 format, const Pack<float, V>& x) {
  return format == Fp8::e4m3 ? codes_as<__NV_E4M3>(x) : codes_as<__NV_E5M2>(x);
}

template <class T, int V>
__device__ float largest_magnitude_of(const Pack<T, V>& x) {
  float magnitude = 0;
  for (int j = 0; j < V; ++j) magnitude = fmaxf(magnitude, fabsf(x[j]));
  return magnitude;
}

/// The least power of two that takes `magnitude` to at most e4m3's largest, as its exponent with 127 added.
__device__ inline int exponent_for(float magnitude) {
  if (magnitude == 0) return 127;
  const unsigned bits = __float_as_uint(magnitude / static_cast<float>(kernels::largest(Fp8::e4m3)));
  return min(static_cast<int>(bits >> 23) + ((bits & 0x7fffffu) != 0), 254);
}

}  // namespace kernels::gpu
