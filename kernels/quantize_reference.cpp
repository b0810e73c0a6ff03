// kernels/quantize_reference.cpp -- see quantize.h.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/quantize.h"

#include <algorithm>
#include <cmath>

namespace kernels::reference {
namespace {

std::int64_t scale_of(const Quantize& q, std::int64_t row, std::int64_t column) {
  return row / q.block_rows * q.across() + column / q.block_columns;
}

}  // namespace

void quantize(const Quantize& q, Input x, std::span<std::uint8_t> codes, Output scales) {
  std::fill(scales.begin(), scales.end(), 0);
  for (std::int64_t row = 0; row < q.rows; ++row) {
    for (std::int64_t column = 0; column < q.columns; ++column) {
      double& scale = scales[scale_of(q, row, column)];
      scale = std::max(scale, std::fabs(x[row * q.columns + column]));
    }
  }
  for (double& scale : scales) scale = scale == 0 ? 1 : scale / largest(q.format);
  for (std::int64_t row = 0; row < q.rows; ++row) {
    for (std::int64_t column = 0; column < q.columns; ++column) {
      const std::int64_t at = row * q.columns + column;
      codes[at] = to_fp8(q.format, x[at] / scales[scale_of(q, row, column)]);
    }
  }
}

void dequantize(const Quantize& q, std::span<const std::uint8_t> codes, Input scales, Output x) {
  for (std::int64_t row = 0; row < q.rows; ++row) {
    for (std::int64_t column = 0; column < q.columns; ++column) {
      const std::int64_t at = row * q.columns + column;
      x[at] = from_fp8(q.format, codes[at]) * scales[scale_of(q, row, column)];
    }
  }
}

}  // namespace kernels::reference
