// kernels/cast.h -- a matrix to fp8 with one scale for all of it, in both layouts that matmuls of 8 bits read.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/fp8.h"
#include "kernels/types.h"

namespace kernels {

struct Cast {
  Fp8 format = Fp8::e4m3;
  std::int64_t rows = 0, columns = 0;
};

namespace reference {

/// `magnitude` [1] becomes the larger of what it holds and the largest |x|.
void largest_magnitude(Input x, Output magnitude);
/// `scale` [1] takes `magnitude` [1] to the largest number of the format; 1 where that is 0.
void scale_for(Fp8, Input magnitude, Output scale);
/// `codes` [rows, columns] and `turned` [columns, rows], either of which may be none: x / scale in fp8, here as the
/// numbers that the codes stand for. A code times the scale is the value.
void cast(const Cast&, Input x, Input scale, Output codes, Output turned);
/// The other layout of what is cast already.
void turn(std::int64_t rows, std::int64_t columns, Input codes, Output turned);

}  // namespace reference

namespace gpu {

void largest_magnitude(std::int64_t count, Element element, const void* x, float* magnitude, Stream);
void scale_for(Fp8, const float* magnitude, float* scale, Stream);
/// `magnitude`, where given, takes in the largest |x| on the way.
void cast(const Cast&, Element element, const void* x, const float* scale, std::uint8_t* codes, std::uint8_t* turned,
          float* magnitude, Stream);
void turn(std::int64_t rows, std::int64_t columns, const std::uint8_t* codes, std::uint8_t* turned, Stream);

}  // namespace gpu
}  // namespace kernels
