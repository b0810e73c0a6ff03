// tests/kernels/normal_test.cpp -- kernels/normal.h. SPDX-License-Identifier: Apache-2.0
#include "kernels/normal.h"

#include <numeric>

#include "tests/kernels/gradients.h"

namespace {

using test::Values;

Values drawn(const kernels::Normal& n) {
  Values y(static_cast<std::size_t>(n.count()), NAN);
  kernels::reference::normal(n, y);
  return y;
}

TEST(NormalKernel, HasTheMomentsOfItsDistribution) {
  // Of 100,000 draws of deviation 0.5 the mean is within 0.5 / sqrt(1e5) = 0.0016, the variance, 0.25, within 0.25
  // sqrt(2 / 1e5) = 0.0011, and 31,731 lie beyond one deviation, with a deviation of 147; five of each allowed.
  const Values y = drawn({.deviation = 0.5, .key = 7, .rows = 100, .columns = 1000, .stride = 1000});
  const double mean = std::accumulate(y.begin(), y.end(), 0.0) / 1e5;
  double variance = 0;
  for (const double value : y) variance += value * value / 1e5;
  EXPECT_NEAR(mean, 0, 5 * 0.0016);
  EXPECT_NEAR(variance, 0.25, 5 * 0.0011);
  EXPECT_NEAR(static_cast<double>(std::ranges::count_if(y, [](double v) { return std::abs(v) > 0.5; })), 31731,
              5 * 147);
}

TEST(NormalKernel, APartHasTheNumbersOfTheWhole) {
  const Values whole = drawn({.key = 9, .rows = 6, .columns = 10, .stride = 10});
  const Values part = drawn({.key = 9, .rows = 3, .columns = 4, .first = 2 * 10 + 5, .stride = 10});
  for (std::size_t row = 0; row < 3; ++row) {
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(part[row * 4 + i], whole[(row + 2) * 10 + 5 + i]);
  }
}

}  // namespace
