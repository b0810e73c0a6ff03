// sim/memory/tight.h -- when a peak that fits is too near to the memory to rely on.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace sim {

/// Share of a GPU's memory beyond which what fits is told as tight: measured peaks differ from predicted ones by 3 to
/// 7 % in the median, so that about half of what is predicted up there may run out of memory.
inline constexpr double kTight = 0.95;

/// Whether a peak fits and is beyond that share.
constexpr bool is_tight(std::int64_t peak_bytes, std::int64_t capacity_bytes) {
  return peak_bytes <= capacity_bytes && static_cast<double>(peak_bytes) > kTight * static_cast<double>(capacity_bytes);
}

}  // namespace sim
