// sim/network/mixed.h -- a hash for what must be spread evenly and alike in every run: colours, uplinks of flows.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace sim {

/// SplitMix64 of Steele, Lea, Flood, OOPSLA 2014: spreads close numbers over all 64 bits.
inline std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace sim
