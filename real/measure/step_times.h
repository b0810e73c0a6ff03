// real/measure/step_times.h -- the times of repeated steps on all ranks as one figure and its spread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/base/units.h"

namespace real {

using StepTimes = std::vector<base::Seconds>;  // of one rank, by step

/// A step takes as long as its slowest rank. REQUIRES: as many steps of each rank.
StepTimes slowest(const std::vector<StepTimes>& by_rank);

struct Spread {
  base::Seconds median, low, high;  // low and high: the fastest and the slowest step but a tenth at each end
};
/// REQUIRES: at least one step.
Spread spread_of(StepTimes);

}  // namespace real
