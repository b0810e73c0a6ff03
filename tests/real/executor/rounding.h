// tests/real/executor/rounding.h -- to the numbers of 8-bit formats and back, by their definition and not by the
// kernels' codes. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace fp8_model {

using Vector = std::vector<double>;

struct Format {
  int mantissa, least_exponent;
  double largest;
};
inline constexpr Format kE4m3{3, -6, 448}, kE5m2{2, -14, 57344};

/// The nearest number of the format, to even where two are as near.
inline double nearest(const Format& f, double x) {
  if (std::abs(x) >= f.largest) return std::copysign(f.largest, x);
  if (x == 0) return 0;
  int exponent = 0;
  std::frexp(x, &exponent);  // x is between 2^(exponent - 1) and 2^exponent
  const double unit = std::exp2(std::max(exponent - 1, f.least_exponent) - f.mantissa);
  return std::nearbyint(x / unit) * unit;
}

/// All in e4m3 under the least power of two that keeps them within it.
inline void to_block(const std::vector<double*>& numbers) {
  double largest = 0, scale = 1;
  for (const double* v : numbers) largest = std::max(largest, std::abs(*v));
  while (largest / scale > kE4m3.largest) scale *= 2;
  while (largest > 0 && largest / (scale / 2) <= kE4m3.largest) scale /= 2;
  for (double* v : numbers) *v = nearest(kE4m3, *v / scale) * scale;
}

/// [rows, columns] in blocks of `size` along a row (`across`) or a column.
inline Vector in_blocks(Vector x, std::size_t columns, bool across, std::size_t size) {
  const std::size_t rows = x.size() / columns, lines = across ? rows : columns, length = across ? columns : rows;
  for (std::size_t line = 0; line < lines; ++line) {
    for (std::size_t begin = 0; begin < length; begin += size) {
      std::vector<double*> block;
      for (std::size_t i = begin; i < std::min(begin + size, length); ++i) {
        block.push_back(across ? &x[line * columns + i] : &x[i * columns + line]);
      }
      to_block(block);
    }
  }
  return x;
}

inline Vector in_squares(Vector x, std::size_t columns, std::size_t size) {
  const std::size_t rows = x.size() / columns;
  for (std::size_t top = 0; top < rows; top += size) {
    for (std::size_t left = 0; left < columns; left += size) {
      std::vector<double*> square;
      for (std::size_t row = top; row < std::min(top + size, rows); ++row) {
        for (std::size_t i = left; i < std::min(left + size, columns); ++i) square.push_back(&x[row * columns + i]);
      }
      to_block(square);
    }
  }
  return x;
}

}  // namespace fp8_model
