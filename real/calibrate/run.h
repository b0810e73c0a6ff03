// real/calibrate/run.h -- times points until they or the budget are used up. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "real/calibrate/bench.h"
#include "real/calibrate/points.h"
#include "real/calibrate/points_file.h"

namespace real {

struct Progress {
  int timed = 0, voided = 0;  // by this run; voided are among timed
  int known = 0;              // in the file before
  int left = 0;               // no time was left for them
  base::Seconds took;
};

inline constexpr base::Seconds kLongestPoint = base::s(4);  // of repetitions, but for Sustained

/// Times what the file has not yet, in the order given, each point written as it is timed. A point that is not likely
/// to be done in time is passed over, a cheaper one behind it may be; how much slower than cost() the machine is, is
/// learned as it goes. `told`: after each point. Throws what the file throws.
Progress run(Bench&, const std::vector<Point>&, PointsFile&, base::Seconds budget,
             const std::function<void(const Progress&, const MeasuredPoint&)>& told = {});

}  // namespace real
