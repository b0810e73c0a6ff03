// sim/economics/purchase.h -- the answer to a plan: each cluster's best strategy, then days, money and chances of each
// candidate, then the choice and what would change it. Read purchase.cpp top to bottom. SPDX-License-Identifier:
// Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>

#include "core/result/purchase.h"
#include "core/spec/purchase.h"

namespace sim {

struct PurchaseOptions {
  unsigned threads = 0;                                             // 0: all cores
  std::function<void(std::size_t done, std::size_t all)> progress;  // called by one thread at a time
  const std::atomic<bool>* stop = nullptr;                          // once true, what is known so far is the answer
};

/// Throws base::InputError where no strategy is sound on any candidate, with the faults of the first. The same answer
/// on any number of threads, unless stopped.
result::Purchase plan_purchase(const spec::Purchase&, const PurchaseOptions&);

}  // namespace sim
