// core/plan/schedule/greedy.h -- orders found by running the pipeline on paper: each stage does the first thing that is
// possible, gradients of weights last, within a bound on what it holds.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/schedule/schedule.h"
#include "core/spec/placement.h"

namespace plan {

struct Greed {
  int most_held = 1;           // microbatches x chunks forwarded whose weight gradients are not done, on one stage
  int most_of_first = 1;       // of these of chunk 0, so that room is left for what comes back
  bool forward_first = false;  // forwards, the last chunk's before all, go before gradients of inputs, and a weight
                               // gradient makes room in time for a forward of the last chunk
};

/// Forward, input gradient and weight gradient of a chunk count as one unit of time each, transfers as none.
std::vector<std::vector<Slot>> greedy(const Pipeline&, const spec::Placement&, const Greed&);

}  // namespace plan
