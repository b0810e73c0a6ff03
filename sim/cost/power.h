// sim/cost/power.h -- what a long step's power draw takes from the clock, and how boards of one kind differ.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/spec/calibration.h"
#include "core/spec/cluster.h"
#include "sim/cost/price.h"

namespace sim {

/// Pace of the SMs in a long step over that of a short run, in (0, 1]: sustained (limit / calibrated limit)^exponent,
/// at most 1. A calibration without a limit, or a GPU without one, keeps `sustained`.
/// A power limit is kept over tens of milliseconds, many kernels, so that one clock holds for a whole step: what
/// matmuls and attention calculate is divided by this pace, however much of the tensor cores a kernel keeps busy.
/// Attention kernels that leave them idle (attention.cpp) are not: they fill half of a step where they run and bring
/// its draw below the limit.
/// Memory has a clock of its own. Leaves out: temperature, data-dependent power, steps that draw less than long matmuls
/// do.
double sustained_pace(const Device&);

/// How much longer the slowest of `boards` takes for any kernel than the usual one, at least 1: 1 + spread times the
/// expected maximum of as many standard normals, 2.7 at the most. A synchronous step waits for that board; those beyond
/// the whiskers of the distribution are outliers, which whoever runs a large cluster replaces.
double slowest_board(const spec::PowerState&, int boards);

/// The node's GPU in a step of `boards` that wait for one another: the slowest of them sets the pace.
Device slowest_of(const spec::Node&, int boards);

}  // namespace sim
