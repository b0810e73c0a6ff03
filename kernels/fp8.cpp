// kernels/fp8.cpp -- see fp8.h.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/fp8.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kernels {
namespace {

struct Layout {
  int mantissa_bits, bias;
};

constexpr Layout layout(Fp8 format) { return format == Fp8::e4m3 ? Layout{3, 7} : Layout{2, 15}; }

constexpr bool is_nan(Fp8 format, int magnitude) { return format == Fp8::e4m3 ? magnitude == 0x7f : magnitude > 0x7c; }

}  // namespace

double power_scale(double magnitude) {
  if (magnitude == 0) return 1;
  int exponent = 0;
  const double mantissa = std::frexp(magnitude / largest(Fp8::e4m3), &exponent);  // 0.5 to below 1
  return std::ldexp(1, std::max(mantissa == 0.5 ? exponent - 1 : exponent, -127));
}

std::uint8_t to_fp8(Fp8 format, double value) {
  const auto [bits, bias] = layout(format);
  const int sign = std::signbit(value) ? 0x80 : 0;
  if (std::isnan(value)) return static_cast<std::uint8_t>(sign | 0x7f);
  const double magnitude = std::min(std::fabs(value), largest(format));
  const int exponent = std::max(magnitude == 0 ? 1 - bias : std::ilogb(magnitude), 1 - bias);
  // In units of the last place. A subnormal has the exponent's field 0, which is what the smallest normal one less its
  // leading bit comes to; a mantissa that rounds up to the next power carries into the exponent by itself.
  const int units = static_cast<int>(std::nearbyint(std::ldexp(magnitude, bits - exponent)));
  return static_cast<std::uint8_t>(sign | (((exponent + bias - 1) << bits) + units));
}

double from_fp8(Fp8 format, std::uint8_t code) {
  const auto [bits, bias] = layout(format);
  const int magnitude = code & 0x7f, field = magnitude >> bits, rest = magnitude & ((1 << bits) - 1);
  double value = std::ldexp(rest + (field > 0 ? 1 << bits : 0), std::max(field, 1) - bias - bits);
  if (is_nan(format, magnitude)) value = std::numeric_limits<double>::quiet_NaN();
  if (format == Fp8::e5m2 && magnitude == 0x7c) value = std::numeric_limits<double>::infinity();
  return code & 0x80 ? -value : value;
}

}  // namespace kernels
