// kernels/mx_cast_reference.cpp -- see mx_cast.h.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "kernels/fp8.h"
#include "kernels/mx_cast.h"

namespace kernels::reference {
namespace {

/// One layout; value(row, column) of it.
template <class Value>
void layout(std::int64_t rows, std::int64_t columns, Value value, Output codes, Output scales) {
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t block = 0; block < mx_blocks(columns); ++block) {
      const std::int64_t begin = block * kMxBlock, end = std::min(begin + kMxBlock, columns);
      double magnitude = 0;
      for (std::int64_t i = begin; i < end; ++i) magnitude = std::max(magnitude, std::fabs(value(row, i)));
      const double scale = power_scale(magnitude);
      scales[mx_place(row, block, mx_blocks(columns))] = scale;
      for (std::int64_t i = begin; i < end; ++i) {
        codes[row * columns + i] = from_fp8(Fp8::e4m3, to_fp8(Fp8::e4m3, value(row, i) / scale));
      }
    }
  }
}

}  // namespace

void mx_cast(const MxCast& c, Input x, Output codes, Output scales, Output turned, Output turned_scales) {
  const auto at = [&](std::int64_t row, std::int64_t column) { return x[row * c.columns + column]; };
  if (!codes.empty()) layout(c.rows, c.columns, at, codes, scales);
  if (turned.empty()) return;
  layout(
      c.columns, c.rows, [&](std::int64_t row, std::int64_t column) { return at(column, row); }, turned, turned_scales);
}

void mx_values(const MxCast& c, Input codes, Input scales, Output x) {
  for (std::int64_t row = 0; row < c.rows; ++row) {
    for (std::int64_t i = 0; i < c.columns; ++i) {
      x[row * c.columns + i] = codes[row * c.columns + i] * scales[mx_place(row, i / kMxBlock, mx_blocks(c.columns))];
    }
  }
}

}  // namespace kernels::reference
