// sim/scaling.h -- what a step's speed makes of more GPUs: efficiency, and where it falls.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/result/scaling.h"

namespace sim {

/// Fills in efficiencies and the first fall under `threshold` (0 to 1). REQUIRES: points by ascending GPUs, rows
/// predicted or refused. Refused points have no efficiency and are passed over.
result::ScalingCurve scaling_curve(result::ScalingKind, std::vector<result::ScalingPoint> points, double threshold);

}  // namespace sim
