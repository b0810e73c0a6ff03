// reports/timeline.h -- passes over time as cells of a character each.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/result/schedule.h"

namespace reports {

struct Window {
  double from_s = 0, to_s = 0;
};

/// For each of `cells` equal parts of the window the pass that it shows, or nullptr where it shows none. What a cell
/// shows is among what runs in it; where several things do, they take turns so that over the line each kind, idle time
/// included, has as many cells as its time asks for. Of a kind it is the pass with most time in the cell.
/// REQUIRES: passes by start, none overlapping; from_s < to_s.
std::vector<const result::SchedulePass*> timeline(const std::vector<const result::SchedulePass*>&, Window, int cells);

}  // namespace reports
