// sim/economics/best_strategy.h -- a cluster's best strategy, as a search finds it, and the Job that has it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "core/result/purchase.h"
#include "core/spec/purchase.h"
#include "sim/search/search.h"

namespace sim {

struct BestStrategy {
  std::optional<result::SearchRow> row;  // nothing: none fits, or the search was stopped
  std::vector<base::Fault> faults;       // no strategy is sound
};

BestStrategy best_strategy(const spec::Candidate&, const SearchOptions&);

/// The candidate's Job under that strategy, resolved.
spec::Job job_of(const spec::Candidate&, const result::Choices& strategy);

/// Its step where every switch has half as many uplinks, over the step as it is.
double slower_with_half_the_uplinks(const spec::Candidate&, const result::Choices& strategy);

}  // namespace sim
