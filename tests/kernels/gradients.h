// tests/kernels/gradients.h -- is a backward the derivative of its forward? Asks central differences.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <span>
#include <vector>

namespace test {

using Values = std::vector<double>;

inline Values random_values(std::size_t count, unsigned seed, double spread = 1) {
  std::mt19937 bits(seed);
  std::normal_distribution<double> normal(0, spread);
  Values values(count);
  for (double& value : values) value = normal(bits);
  return values;
}

inline double dot(const Values& a, const Values& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// |a - b| / |b| over all elements; |a| where b is zero.
inline double distance(std::span<const double> a, std::span<const double> b) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    size += b[i] * b[i];
  }
  return std::sqrt(size == 0 ? difference : difference / size);
}

/// `loss` is a scalar function of `x`; `gradient` must agree with its central differences to 1e-6 of their norm: a step
/// of 1e-5 leaves about 1e-10 of the third derivative and 1e-11 of rounding.
inline void expect_gradient(Values x, const Values& gradient, const std::function<double(const Values&)>& loss) {
  constexpr double kStep = 1e-5;
  ASSERT_EQ(x.size(), gradient.size());
  Values numeric(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double at = x[i];
    x[i] = at + kStep;
    const double above = loss(x);
    x[i] = at - kStep;
    numeric[i] = (above - loss(x)) / (2 * kStep);
    x[i] = at;
  }
  EXPECT_LT(distance(gradient, numeric), 1e-6);
}

}  // namespace test
