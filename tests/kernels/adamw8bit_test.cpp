// tests/kernels/adamw8bit_test.cpp -- kernels/dynamic_code.h and adamw8bit.h. SPDX-License-Identifier: Apache-2.0
#include "kernels/adamw8bit.h"

#include <algorithm>
#include <set>

#include "kernels/dynamic_code.h"
#include "tests/kernels/gradients.h"

namespace {

using kernels::DynamicCode;
using test::Values;
namespace reference = kernels::reference;

/// The paper's figure 2: so many zeros in front of an indicator bit are a power of ten, the bits behind it a linear
/// fraction from 0.1 to 1, of which the middle is taken.
Values plain_numbers(DynamicCode kind) {
  const bool sign = kind == DynamicCode::with_sign;
  Values all{0, 1};
  for (int zeros = 0; zeros < 7; ++zeros) {
    const int parts = 1 << ((sign ? 6 : 7) - zeros);
    for (int i = 0; i < parts; ++i) {
      const double low = 0.1 + 0.9 * i / parts, high = 0.1 + 0.9 * (i + 1) / parts;
      const double number = std::pow(10.0, -zeros) * (low + high) / 2;
      all.push_back(number);
      if (sign) all.push_back(-number);
    }
  }
  std::sort(all.begin(), all.end());
  return all;
}

class DynamicCodes : public testing::TestWithParam<DynamicCode> {
 protected:
  static double value(int code) { return kernels::dynamic_value<double>(GetParam(), code); }
  static int code(double x) {
    return kernels::dynamic_code(GetParam(), x,
                                 [](int i) { return kernels::dynamic_magnitude<double>(GetParam(), i); });
  }
};

TEST_P(DynamicCodes, AreThe256NumbersOfThePaper) {
  Values all;
  for (int code = 0; code < 256; ++code) all.push_back(value(code));
  std::sort(all.begin(), all.end());
  const Values plain = plain_numbers(GetParam());
  ASSERT_EQ(plain.size(), 256u);
  EXPECT_EQ(std::set<double>(all.begin(), all.end()).size(), 256u);
  for (std::size_t i = 0; i < 256; ++i) EXPECT_NEAR(all[i], plain[i], 1e-14) << i;
}

TEST_P(DynamicCodes, OfZeroIsZeroAndEveryNumberHasItsOwn) {
  EXPECT_EQ(code(0), 0);
  EXPECT_EQ(value(0), 0);
  for (int c = 0; c < 256; ++c) EXPECT_EQ(code(value(c)), c);
}

TEST_P(DynamicCodes, AreTheNearest) {
  const Values plain = plain_numbers(GetParam());
  const Values draws = test::random_values(20000, 3);
  for (std::size_t i = 0; i + 1 < draws.size(); i += 2) {
    // Of every magnitude down to 1e-8.
    double x = std::min(1.0, std::fabs(draws[i])) * std::pow(10.0, -std::fmod(std::fabs(draws[i + 1]) * 8, 8.0));
    if (GetParam() == DynamicCode::with_sign && i % 4 == 0) x = -x;
    double nearest = 9;
    for (const double number : plain) nearest = std::min(nearest, std::fabs(number - x));
    EXPECT_NEAR(std::fabs(value(code(x)) - x), nearest, 1e-15) << x;
  }
}

TEST_P(DynamicCodes, OfWhatIsNotANumberIsZero) { EXPECT_EQ(code(std::nan("")), 0); }

INSTANTIATE_TEST_SUITE_P(Kinds, DynamicCodes, testing::Values(DynamicCode::with_sign, DynamicCode::without_sign),
                         [](const auto& kind) {
                           return kind.param == DynamicCode::with_sign ? "WithSign" : "WithoutSign";
                         });

/// Codes and scales of `count` moments of 0.
struct Moments {
  explicit Moments(std::int64_t count)
      : m(count), m_scales(kernels::moment_blocks(count)), v(count), v_scales(kernels::moment_blocks(count)) {}
  Values m, m_scales, v, v_scales;
};

void step(const kernels::AdamW& shape, const Values& gradient, Values& master, Moments& moments) {
  reference::adamw8bit(shape, 1, gradient, master, moments.m, moments.m_scales, moments.v, moments.v_scales);
}

TEST(AdamW8bitKernel, TheFirstStepIsThatOfAdamW) {
  // Moments of 0 are exact, and weights see the new ones before they are rounded.
  const kernels::AdamW shape{0.1, 0.9, 0.999, 1e-8, 0.01, 1};
  const Values gradient = test::random_values(600, 1);
  Values narrow = test::random_values(600, 2), wide = narrow, m(600), v(600);
  Moments moments(600);
  step(shape, gradient, narrow, moments);
  reference::adamw(shape, 1, gradient, wide, m, v);
  EXPECT_EQ(narrow, wide);
}

TEST(AdamW8bitKernel, AMomentIsTheNearestCodeTimesTheLargestOfItsBlock) {
  // 600 numbers: blocks of 256, 256 and 88.
  const kernels::AdamW shape{0.1, 0.9, 0.99, 1e-8, 0, 1};
  const Values gradient = test::random_values(600, 1);
  Values master(600), m(600), v(600), wide(600);
  Moments moments(600);
  step(shape, gradient, master, moments);
  reference::adamw(shape, 1, gradient, wide, m, v);
  const auto expect = [&](DynamicCode kind, const Values& exact, const Values& codes, const Values& scales) {
    const Values plain = plain_numbers(kind);
    ASSERT_EQ(scales.size(), 3u);
    for (std::size_t i = 0; i < exact.size(); ++i) {
      const std::size_t block = i / 256, end = std::min<std::size_t>(600, 256 * block + 256);
      double largest = 0;
      for (std::size_t j = 256 * block; j < end; ++j) largest = std::max(largest, std::fabs(exact[j]));
      EXPECT_EQ(scales[block], largest);
      double nearest = plain[0];
      for (const double number : plain) {
        if (std::fabs(number - exact[i] / largest) < std::fabs(nearest - exact[i] / largest)) nearest = number;
      }
      EXPECT_NEAR(codes[i], nearest, 1e-14);
    }
  };
  expect(DynamicCode::with_sign, m, moments.m, moments.m_scales);
  expect(DynamicCode::without_sign, v, moments.v, moments.v_scales);
}

TEST(AdamW8bitKernel, TheSecondStepReadsTheRoundedMoments) {
  const Values first = test::random_values(300, 1), second = test::random_values(300, 2);
  const kernels::AdamW shape{0.1, 0.9, 0.99, 1e-8, 0, 1};
  kernels::AdamW next = shape;
  next.step = 2;
  Values narrow(300), wide(300), m(300), v(300);
  Moments moments(300);
  step(shape, first, narrow, moments);
  reference::adamw(shape, 1, first, wide, m, v);
  for (std::size_t i = 0; i < 300; ++i) {
    m[i] = moments.m[i] * moments.m_scales[i / 256];
    v[i] = moments.v[i] * moments.v_scales[i / 256];
  }
  step(next, second, narrow, moments);
  reference::adamw(next, 1, second, wide, m, v);
  EXPECT_LT(test::distance(narrow, wide), 1e-14);
}

TEST(AdamW8bitKernel, GradientsOfZeroLeaveMomentsOfZero) {
  Values master(10, 1.0);
  Moments moments(10);
  step({0.1, 0.9, 0.99, 1e-8, 0, 1}, Values(10), master, moments);
  EXPECT_EQ(master, Values(10, 1.0));
  EXPECT_EQ(moments.m, Values(10));
  EXPECT_EQ(moments.m_scales, Values(1));
}

}  // namespace
