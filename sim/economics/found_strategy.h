// sim/economics/found_strategy.h -- the Job of a strategy that a search found, and the same on a weaker fabric.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result/search.h"
#include "core/spec/purchase.h"

namespace sim {

/// The candidate's Job under that strategy, resolved.
spec::Job job_of(const spec::Candidate&, const result::Choices& strategy);

/// Its step where every switch has half as many uplinks, over the step as it is.
double slower_with_half_the_uplinks(const spec::Candidate&, const result::Choices& strategy);

}  // namespace sim
