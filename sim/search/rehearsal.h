// sim/search/rehearsal.h -- a few passes of one stage run on the engine by themselves, to learn how long each takes:
// the lower of a search's two levels. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "core/plan/plan.h"
#include "core/spec/job.h"
#include "sim/prices.h"

namespace sim {

/// Seconds from the step's begin.
struct Rehearsal {
  std::vector<double> begin;                           // of each call's first kernel
  std::vector<double> done;                            // and end of its last
  double end = 0;                                      // of the last operator
  std::vector<double> kernels, tp, cp, ep, dp, sends;  // of each call, on the streams of these names
};

/// Calls the plan's segments in this order on `stage`, without what they exchange with other stages (transfers on a
/// channel); what waits for that waits for nothing.
Rehearsal rehearse(plan::Plan, int stage, const std::vector<std::int32_t>& segments, const spec::Job&, PriceList&);

}  // namespace sim
