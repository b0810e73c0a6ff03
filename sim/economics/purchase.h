// sim/economics/purchase.h -- the answer to a plan: each cluster's best strategy, then days, money and chances of each
// candidate, then the choice and what would change it. Read purchase.cpp top to bottom.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>

#include "core/result/purchase.h"
#include "core/result/search.h"
#include "core/spec/purchase.h"

namespace sim {

struct PurchaseOptions {
  /// The best strategies of a candidate's unchecked job over its space, best first: sim::search, for the command line.
  std::function<result::Search(const spec::Candidate&)> search;
  unsigned threads = 0;                     // for the simulated runs; 0: all cores
  const std::atomic<bool>* stop = nullptr;  // true: the search was stopped, and what is known so far is the answer
};

/// Throws base::InputError where no strategy is sound on any candidate, with the faults of the first. The same answer
/// on any number of threads, unless stopped.
result::Purchase plan_purchase(const spec::Purchase&, const PurchaseOptions&);

}  // namespace sim
