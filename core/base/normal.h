// core/base/normal.h -- the standard normal distribution: samples that repeat, and the greatest of several.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace base {

/// A standard normal number that depends on nothing but its arguments, so that runs repeat whatever their order.
double normal_sample(std::uint64_t seed, std::uint64_t stream, std::uint64_t index);

/// Expected maximum of n independent standard normals, to six digits: the mean of the distribution Phi^n by the
/// trapezoid rule, which converges fast for so smooth an integrand. 0 for n < 2. Each thread works one out once.
double expected_maximum(int n);

inline constexpr double kMostDeviations = 9;  // neither of the two returns more

}  // namespace base
