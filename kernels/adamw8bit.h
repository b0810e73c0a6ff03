// kernels/adamw8bit.h -- AdamW with moments of 8 bits: codes of the dynamic data type, and a scale for each block of
// them. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/adamw.h"
#include "kernels/types.h"

namespace kernels {

/// Numbers that share a scale, counted from the first of a tensor; its last block may be smaller.
inline constexpr std::int64_t kMomentBlock = 256;
constexpr std::int64_t moment_blocks(std::int64_t count) { return (count + kMomentBlock - 1) / kMomentBlock; }

namespace reference {

/// The step of AdamW on m and v = code times scale; the weights see the new moments before they are rounded. Then a
/// block's scale is the largest of its magnitudes, and a code the nearest to moment over scale (kernels/dynamic_code.h;
/// m with a sign, v without). Codes are kept as the numbers that they stand for; one scale for each of
/// moment_blocks(count). All zeros are moments of 0.
void adamw8bit(const AdamW&, double factor, Input gradient, Output master, Output m, Output m_scales, Output v,
               Output v_scales);

}  // namespace reference

namespace gpu {

/// One of many tensors that a launch updates; codes are those of dynamic_code().
struct AdamW8bitTensor {
  const float* gradient = nullptr;
  float* master = nullptr;
  std::uint8_t* m = nullptr;
  float* m_scales = nullptr;
  std::uint8_t* v = nullptr;
  float* v_scales = nullptr;
  void* parameter = nullptr;  // receives the new weights; may be null
  std::int64_t count = 0;
};

/// Updates all tensors in few launches. parameter is of `element`; factor lies on the device (null: 1).
void adamw8bit(const AdamW&, Element element, std::span<const AdamW8bitTensor>, const float* factor, Stream);

}  // namespace gpu
}  // namespace kernels
