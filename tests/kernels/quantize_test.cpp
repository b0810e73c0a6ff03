// tests/kernels/quantize_test.cpp -- kernels/fp8.h and kernels/quantize.h. SPDX-License-Identifier: Apache-2.0
#include "kernels/quantize.h"

#include <limits>

#include "tests/kernels/gradients.h"

namespace {

using kernels::Fp8;
using test::Values;

TEST(Fp8, KnownValuesHaveTheirCodes) {
  // e4m3, bias 7: 1 is exponent field 7. The smallest normal is 2^-6, the smallest subnormal 2^-9.
  EXPECT_EQ(kernels::to_fp8(Fp8::e4m3, 1), 7 << 3);
  EXPECT_EQ(kernels::to_fp8(Fp8::e4m3, 448), 0x7e);
  EXPECT_EQ(kernels::to_fp8(Fp8::e4m3, std::ldexp(1, -6)), 1 << 3);
  EXPECT_EQ(kernels::to_fp8(Fp8::e4m3, -std::ldexp(1, -9)), 0x81);
  EXPECT_EQ(kernels::to_fp8(Fp8::e5m2, 1), 15 << 2);
  EXPECT_EQ(kernels::to_fp8(Fp8::e5m2, 57344), 0x7b);
  EXPECT_EQ(kernels::to_fp8(Fp8::e5m2, std::ldexp(1, -16)), 0x01);
}

TEST(Fp8, EveryFiniteCodeComesBack) {
  for (Fp8 format : {Fp8::e4m3, Fp8::e5m2}) {
    for (int code = 0; code < 256; ++code) {
      const double value = kernels::from_fp8(format, static_cast<std::uint8_t>(code));
      if (std::isfinite(value)) {
        EXPECT_EQ(kernels::to_fp8(format, value), code);
      }
    }
  }
}

TEST(Fp8, RoundsToTheNearestTiesToEvenAndSaturates) {
  // Above 16 the step of e4m3 is 2: 17 lies between 16 (even mantissa) and 18, 19 between 18 and 20 (even).
  const auto round = [](double x) { return kernels::from_fp8(Fp8::e4m3, kernels::to_fp8(Fp8::e4m3, x)); };
  EXPECT_EQ(round(17), 16);
  EXPECT_EQ(round(17.01), 18);
  EXPECT_EQ(round(19), 20);
  EXPECT_EQ(round(31.5), 32);  // carries into the exponent
  EXPECT_EQ(round(1e9), 448);
  EXPECT_EQ(round(-std::numeric_limits<double>::infinity()), -448);
  EXPECT_EQ(round(std::ldexp(1, -11)), 0);
  EXPECT_TRUE(std::isnan(round(std::nan(""))));
}

TEST(QuantizeKernel, TheLargestOfEveryBlockIsExactAndTheRestWithinHalfAStep) {
  // 5 x 7 in blocks of 2 x 3: 3 x 3 scales. A step is at most 2^-3 of a value (e4m3) or 2^-9 of the smallest normal.
  const kernels::Quantize shape{Fp8::e4m3, 5, 7, 2, 3};
  const Values x = test::random_values(35, 1);
  std::vector<std::uint8_t> codes(35);
  Values scales(9), back(35);
  ASSERT_EQ(shape.down() * shape.across(), 9);
  kernels::reference::quantize(shape, x, codes, scales);
  kernels::reference::dequantize(shape, codes, scales, back);
  double largest = 0;
  for (int i : {0, 1, 2, 7, 8, 9}) largest = std::max(largest, std::fabs(x[i]));
  EXPECT_EQ(scales[0], largest / 448);
  for (int i = 0; i < 35; ++i) {
    const double scale = scales[i / 7 / 2 * 3 + i % 7 / 3];
    EXPECT_LE(std::fabs(back[i] - x[i]), std::max(std::fabs(x[i]) / 16, scale * std::ldexp(1, -10)) * 1.0001);
  }
}

TEST(QuantizeKernel, ABlockOfZerosHasScaleOne) {
  const Values zeros(4);
  std::vector<std::uint8_t> codes(4, 9);
  Values scales(1);
  kernels::reference::quantize({Fp8::e5m2, 2, 2, 2, 2}, zeros, codes, scales);
  EXPECT_EQ(scales[0], 1);
  EXPECT_EQ(codes, std::vector<std::uint8_t>(4, 0));
}

}  // namespace
