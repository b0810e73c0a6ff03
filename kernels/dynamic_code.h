// kernels/dynamic_code.h -- the dynamic data type of 8 bits in which optimizers keep their moments: seven decades below
// 1, of which each has twice as many numbers as the one below it. Source: Dettmers, Lewis, Shleifer, Zettlemoyer,
// "8-bit Optimizers via Block-wise Quantization", ICLR 2022, sections 1.3 and 2.2.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/host_device.h"

namespace kernels {

/// A signed number has a bit for its sign; one that is not below 0 has twice as many fractions instead.
enum class DynamicCode { with_sign, without_sign };

/// Fractions of the lowest decade.
KERNELS_HOST_DEVICE constexpr int first_fractions(DynamicCode kind) { return kind == DynamicCode::with_sign ? 1 : 2; }
/// The magnitude 1 itself, above all decades.
KERNELS_HOST_DEVICE constexpr int last_magnitude(DynamicCode kind) { return 1 + 127 * first_fractions(kind); }

/// The magnitudes in their order: 0; of decade d from 0 to 6, which ends at 10^(d-6), the middles of the
/// first_fractions 2^d equal parts of its upper nine tenths; 1. REQUIRES: 0 <= index <= last_magnitude.
template <class Real>
KERNELS_HOST_DEVICE constexpr Real dynamic_magnitude(DynamicCode kind, int index) {
  if (index == 0) return 0;
  if (index == last_magnitude(kind)) return 1;
  int parts = first_fractions(kind), before = 1;
  Real shrinks = 1000000;  // a quotient is nearer to its power of ten than a product is
  for (; index >= before + parts; shrinks /= 10) {
    before += parts;
    parts *= 2;
  }
  const Real middle = (static_cast<Real>(index - before) + static_cast<Real>(0.5)) / static_cast<Real>(parts);
  return (static_cast<Real>(0.1) + static_cast<Real>(0.9) * middle) / shrinks;
}

/// The index of the magnitude that is nearest to x, 0 <= x <= 1, up to `most`; of what is not a number, 0.
/// `magnitude(index)` says what they are.
template <class Real, class Magnitude>
KERNELS_HOST_DEVICE constexpr int nearest_dynamic(DynamicCode kind, int most, Real x, const Magnitude& magnitude) {
  if (!(x > 0)) return 0;
  int parts = first_fractions(kind), before = 1;
  Real grown = x * 1000000;
  for (int decade = 0; decade < 6 && grown > 1; ++decade) {
    before += parts;
    parts *= 2;
    grown /= 10;
  }
  // Near the ends of a decade the nearest number may be its neighbour's.
  const auto part = static_cast<int>((grown - static_cast<Real>(0.1)) / static_cast<Real>(0.9) * parts);
  int index = before + (part < 0 ? 0 : part);
  if (index > most) index = most;
  const auto apart = [&](int i) { return magnitude(i) > x ? magnitude(i) - x : x - magnitude(i); };
  while (index > 0 && apart(index - 1) < apart(index)) --index;
  while (index < most && apart(index + 1) < apart(index)) ++index;
  return index;
}

/// A byte: the index of the magnitude, which of a number below 0 is taken from 256. There is no -1; 128 is 1.
template <class Real>
KERNELS_HOST_DEVICE constexpr Real dynamic_value(DynamicCode kind, int code) {
  const bool below = kind == DynamicCode::with_sign && code > 128;
  return below ? -dynamic_magnitude<Real>(kind, 256 - code) : dynamic_magnitude<Real>(kind, code);
}

/// The code of the number that is nearest to x, -1 <= x <= 1.
template <class Real, class Magnitude>
KERNELS_HOST_DEVICE constexpr std::uint8_t dynamic_code(DynamicCode kind, Real x, const Magnitude& magnitude) {
  if (kind == DynamicCode::without_sign || x > 0) {
    return static_cast<std::uint8_t>(nearest_dynamic(kind, last_magnitude(kind), x, magnitude));
  }
  return static_cast<std::uint8_t>(-nearest_dynamic(kind, last_magnitude(kind) - 1, -x, magnitude));
}

}  // namespace kernels
