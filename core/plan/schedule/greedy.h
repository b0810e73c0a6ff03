// core/plan/schedule/greedy.h -- orders found by running the pipeline on paper: each stage does the first thing that is
// possible, gradients of inputs before forwards before gradients of weights, within a bound on what it holds.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/schedule/placement.h"
#include "core/plan/schedule/schedule.h"

namespace plan {

struct Greed {
  int most_held = 1;           // microbatches x chunks forwarded whose weight gradients are not done, on one stage
  int most_of_first = 1;       // of these of chunk 0, so that room is left for what comes back
  bool last_first = false;     // gradients of the last chunk go before those of the first
  bool forward_first = false;  // forwards of the last chunk go before gradients
};

/// Forward, input gradient and weight gradient of a chunk count as one unit of time each, transfers as none.
std::vector<std::vector<Slot>> greedy(const Pipeline&, const Placement&, const Greed&);

/// Units from the first slot of a stage to its last, of the stage where that is most: what a step takes when the next
/// may begin on each stage as soon as this one has ended there.
int period(const std::vector<std::vector<Slot>>&, const Pipeline&, const Placement&);

}  // namespace plan
