// kernels/block_cast_reference.cpp -- see block_cast.h.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "kernels/block_cast.h"

namespace kernels::reference {
namespace {

/// One layout; value(row, column) of it.
template <class Value>
void layout(Scales kind, std::int64_t rows, std::int64_t columns, Value value, Output codes, Output scales) {
  std::fill(scales.begin(), scales.end(), 0);  // the largest magnitudes first
  const auto scale_of = [&](std::int64_t row, std::int64_t column) -> double& {
    return scales[place_of_scale(kind, rows, columns, row, column)];
  };
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      double& magnitude = scale_of(row, column);
      magnitude = std::max(magnitude, std::fabs(value(row, column)));
    }
  }
  for (double& scale : scales) scale = power_scale(scale);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      const double scaled = value(row, column) / scale_of(row, column);
      codes[row * columns + column] = from_fp8(Fp8::e4m3, to_fp8(Fp8::e4m3, scaled));
    }
  }
}

}  // namespace

void block_cast(const BlockCast& c, Input x, Output codes, Output scales, Output turned, Output turned_scales) {
  const auto at = [&](std::int64_t row, std::int64_t column) { return x[row * c.columns + column]; };
  if (!codes.empty()) layout(c.scales, c.rows, c.columns, at, codes, scales);
  if (turned.empty()) return;
  const auto turned_at = [&](std::int64_t row, std::int64_t column) { return at(column, row); };
  layout(c.scales, c.columns, c.rows, turned_at, turned, turned_scales);
}

void block_values(const BlockCast& c, Input codes, Input scales, Output x) {
  for (std::int64_t row = 0; row < c.rows; ++row) {
    for (std::int64_t column = 0; column < c.columns; ++column) {
      const std::int64_t at = row * c.columns + column;
      x[at] = codes[at] * scales[place_of_scale(c.scales, c.rows, c.columns, row, column)];
    }
  }
}

}  // namespace kernels::reference
