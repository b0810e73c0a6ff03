// sim/engine/chains.h -- kernels that run back to back whatever happens around them become one step, so that a step of
// hundreds of thousands of operators is run in a fraction of the events.
//
// A kernel joins the one before it when it waits for nothing, nothing waits for the one before, both are of one phase,
// and the host, launching at its rate from the moment the chain began, is never behind: then no run can put a gap
// between them. Communication beside a chain slows it as it slows its kernels.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/engine/engine.h"

namespace sim {

/// The same run in fewer steps: instants differ by roundings to a picosecond, and where the launch queue is full by
/// what the host takes for a chain, of 32 kernels at most, in each stretch of kernels shorter than their launches.
/// Leaves the input as it is when ranks draw their kernels' times (jitter) or may be faster than priced (a rank's
/// factor below one). REQUIRES: one step an operator, as flatten() makes them.
void chain(EngineInput&);

}  // namespace sim
