// SPDX-License-Identifier: Apache-2.0
#include "core/base/normal.h"

#include <cmath>
#include <numbers>
#include <unordered_map>

namespace base {
namespace {

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): a well-mixed 64-bit number from a counter.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

double uniform(std::uint64_t bits) { return (static_cast<double>(bits >> 11) + 0.5) / 9007199254740992.0; }

double normal_distribution(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

}  // namespace

double normal_sample(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  const std::uint64_t key = mixed(mixed(mixed(seed) ^ stream) ^ index);
  return std::sqrt(-2 * std::log(uniform(key))) * std::cos(2 * std::numbers::pi * uniform(mixed(key)));
}

namespace {

double worked_out(int n) {
  // The mean of a distribution F that is 0 below -L and 1 above L is L minus the integral of F between them.
  constexpr double limit = 9;
  constexpr int steps = 180;
  double integral = 0.5;  // half of F(L); F(-L) is 0
  for (int k = 1; k < steps; ++k) integral += std::pow(normal_distribution(-limit + 2 * limit * k / steps), n);
  return limit - integral * 2 * limit / steps;
}

}  // namespace

double expected_maximum(int n) {
  if (n < 2) return 0;
  thread_local std::unordered_map<int, double> known;
  const auto [it, fresh] = known.try_emplace(n, 0.0);
  if (fresh) it->second = worked_out(n);
  return it->second;
}

}  // namespace base
