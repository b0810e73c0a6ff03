// sim/economics/random.h -- numbers drawn one after the other, the same on every machine for the same seed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>

namespace sim {

class Random {
 public:
  /// Streams of one seed are independent.
  Random(std::uint64_t seed, std::uint64_t stream) {
    std::seed_seq words{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                        static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)};
    engine_.seed(words);
  }

  /// Above 0, below 1. The library's distributions would differ from one standard library to the next.
  double uniform() { return (static_cast<double>(engine_() >> 11) + 0.5) / 9007199254740992.0; }
  double exponential(double mean) { return -mean * std::log(uniform()); }
  double normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform()); }

 private:
  std::mt19937_64 engine_;
};

}  // namespace sim
