// sim/engine/rolling.h -- steps that follow one another without a barrier. A stage waits for its first microbatch while
// the pipeline fills, but in a run of many steps it spends that time on the end of the step before.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/trace/trace.h"
#include "sim/engine/engine.h"

namespace sim {

/// Gives every rank a clock of its own, on which its first kernel starts as early as that of the rank that begins
/// first; the length becomes the period of the steps, the longest that any rank is busy with one. What was under way on
/// a rank before its clock starts is cut off there.
void roll(trace::Trace&);

/// The length that roll() gives to the Trace of instances that were at work so.
Ticks rolling_length(const std::vector<Reach>&);

}  // namespace sim
