// sim/scaling.h -- what a step's speed makes of more GPUs: efficiency, and where it falls.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/result/scaling.h"

namespace sim {

/// Fills in efficiencies, over the fewest GPUs on which it fits (the fewest that run it where it fits on none), and the
/// first fall under `threshold` (0 to 1) from there on. REQUIRES: points by ascending GPUs, rows predicted or refused.
/// Refused points have no efficiency and are passed over.
result::ScalingCurve scaling_curve(result::ScalingKind, std::vector<result::ScalingPoint> points, double threshold);

}  // namespace sim
