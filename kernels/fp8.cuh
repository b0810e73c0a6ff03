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

/// The least power of two that takes `magnitude` to at most e4m3's largest, as its exponent with 127 added.
__device__ inline int exponent_for(float magnitude) {
  if (magnitude == 0) return 127;
  const unsigned bits = __float_as_uint(magnitude / 448.0f);
  return min(static_cast<int>(bits >> 23) + ((bits & 0x7fffffu) != 0), 254);
}

}  // namespace kernels::gpu
