// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/jitter.h"

#include <cmath>
#include <numbers>

namespace sim {
namespace {

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): a well-mixed 64-bit number from a counter.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

double uniform(std::uint64_t bits) { return (static_cast<double>(bits >> 11) + 0.5) / 9007199254740992.0; }

double normal_quantile(double p) {
  double low = -10, high = 10;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (0.5 * std::erfc(-middle / std::numbers::sqrt2) < p ? low : high) = middle;
  }
  return low;
}

}  // namespace

double normal_sample(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  const std::uint64_t key = mixed(mixed(mixed(seed) ^ stream) ^ index);
  return std::sqrt(-2 * std::log(uniform(key))) * std::cos(2 * std::numbers::pi * uniform(mixed(key)));
}

double expected_maximum(int n) { return n < 2 ? 0 : normal_quantile((n - 0.375) / (n + 0.25)); }

}  // namespace sim
