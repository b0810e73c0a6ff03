// tests/kernels/cast_test.cpp -- kernels/cast.h. SPDX-License-Identifier: Apache-2.0
#include "kernels/cast.h"

#include <algorithm>
#include <cmath>

#include "tests/kernels/gradients.h"

namespace {

using kernels::Fp8;
using test::Values;
namespace reference = kernels::reference;

TEST(Cast, TheLargestMagnitudeTakesInWhatWasSeenBefore) {
  Values magnitude{2};
  reference::largest_magnitude(Values{-1, 1.5}, magnitude);
  EXPECT_EQ(magnitude[0], 2);
  reference::largest_magnitude(Values{1, -3}, magnitude);
  EXPECT_EQ(magnitude[0], 3);
}

TEST(Cast, TheScaleTakesTheLargestToTheFormatsLargest) {
  Values scale(1);
  reference::scale_for(Fp8::e4m3, Values{896}, scale);
  EXPECT_EQ(scale[0], 2);  // 896 / 448
  reference::scale_for(Fp8::e5m2, Values{57344}, scale);
  EXPECT_EQ(scale[0], 1);
  reference::scale_for(Fp8::e4m3, Values{0}, scale);
  EXPECT_EQ(scale[0], 1);  // nothing but zeros
}

TEST(Cast, BothLayoutsHoldTheNearestNumbersOfTheFormat) {
  // e4m3 has 3 bits of mantissa: between 16 and 32 every second number. 1000 is beyond the largest.
  const Values x{2, 35, 1000, -34, 0, 38};
  Values codes(6), turned(6);
  reference::cast({Fp8::e4m3, 2, 3}, x, Values{2}, codes, turned);
  EXPECT_EQ(codes, (Values{1, 18, 448, -16, 0, 20}));  // 17.5 -> 18; 17 -> 16, the even one; 19 -> 20, the even one
  EXPECT_EQ(turned, (Values{1, -16, 18, 0, 448, 20}));
  Values again(6);
  reference::turn(2, 3, codes, again);
  EXPECT_EQ(again, turned);
}

TEST(Cast, AValueIsOffByHalfAStepAtMost) {
  const Values x = test::random_values(64, 1);
  for (const Fp8 format : {Fp8::e4m3, Fp8::e5m2}) {
    Values magnitude(1), scale(1), codes(64);
    reference::largest_magnitude(x, magnitude);
    reference::scale_for(format, magnitude, scale);
    reference::cast({format, 8, 8}, x, scale, codes, {});
    // Half of the last bit of 3 (2) mantissa bits: 2^-4 (2^-3) of the value; below the normal numbers half a step.
    const double relative = format == Fp8::e4m3 ? 1.0 / 16 : 1.0 / 8, least = format == Fp8::e4m3 ? 0x1p-10 : 0x1p-17;
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_LE(std::fabs(codes[i] * scale[0] - x[i]), std::max(relative * std::fabs(x[i]), least * scale[0])) << i;
    }
  }
}

}  // namespace
