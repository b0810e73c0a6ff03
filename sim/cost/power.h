// sim/cost/power.h -- what a long step's power draw takes from math.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/units.h"
#include "sim/cost/price.h"

namespace sim {

/// Pace of matmuls in a long step over that of a short run, in (0, 1]: sustained (limit / calibrated limit)^exponent,
/// at most 1, over 1 + spread times the expected maximum of `boards` standard normals: the slowest board that a
/// synchronous step waits for. A calibration without a limit, or a GPU without one, keeps `sustained`. Leaves out:
/// temperature, data-dependent power.
double sustained_pace(const Device&);

/// Time to add to a kernel's short-run price for `flops` that would run at `ceiling` of `peak`:
///   (1 / pace - 1) flops / (ceiling peak)
/// Energy follows the FLOPs done, so a kernel that keeps tensor cores idle (short, or waiting for memory) gains little
/// and one without FLOPs nothing. Grows with work, never with peak.
base::Seconds power_penalty(const Device&, base::Flops flops, base::FlopRate peak, double ceiling);

}  // namespace sim
