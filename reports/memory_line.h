// reports/memory_line.h -- a GPU's memory over time as a line of characters, each the highest of its part of the time.
//
//   ▂▃▄▅▆▇▇▇▇▇▇▇▇▇▇▇▇▆▅▄▃▂
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result/schedule.h"
#include "reports/style.h"
#include "reports/timeline.h"

namespace reports {

/// The most bytes allocated in each of `cells` equal parts of the window; 0 before the first step.
/// REQUIRES: steps by time; from_s < to_s.
std::vector<std::int64_t> highest(const std::vector<result::MemoryStep>&, Window, int cells);

/// Eighths of the capacity, rounded up, as blocks; '!' (in red) where it is more than all. REQUIRES: capacity > 0.
std::string memory_line(const std::vector<std::int64_t>& bytes, std::int64_t capacity, const Style&);

}  // namespace reports
