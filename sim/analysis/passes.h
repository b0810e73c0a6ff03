// sim/analysis/passes.h -- the passes of a step on the compute stream of each stage, from its Trace.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/plan/plan.h"
#include "core/result/schedule.h"
#include "core/trace/trace.h"

namespace sim {

/// Of every stage, by the rank that stands for it. A call of the Plan is a pass, an overlapped call two of them. Calls
/// without a kernel, receives say, are none.
/// REQUIRES: the trace of this plan, of operators and not of chains.
std::vector<result::StageSchedule> passes(const plan::Plan&, const trace::Trace&);

}  // namespace sim
