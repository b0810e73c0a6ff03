// kernels/cast_reference.cpp -- see cast.h.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "kernels/cast.h"

namespace kernels::reference {

void largest_magnitude(Input x, Output magnitude) {
  for (const double value : x) magnitude[0] = std::max(magnitude[0], std::fabs(value));
}

void scale_for(Fp8 format, Input magnitude, Output scale) {
  scale[0] = magnitude[0] == 0 ? 1 : magnitude[0] / largest(format);
}

void cast(const Cast& c, Input x, Input scale, Output codes, Output turned) {
  for (std::int64_t row = 0; row < c.rows; ++row) {
    for (std::int64_t column = 0; column < c.columns; ++column) {
      const double code = from_fp8(c.format, to_fp8(c.format, x[row * c.columns + column] / scale[0]));
      if (!codes.empty()) codes[row * c.columns + column] = code;
      if (!turned.empty()) turned[column * c.rows + row] = code;
    }
  }
}

void turn(std::int64_t rows, std::int64_t columns, Input codes, Output turned) {
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column)
      turned[column * rows + row] = codes[row * columns + column];
  }
}

}  // namespace kernels::reference
