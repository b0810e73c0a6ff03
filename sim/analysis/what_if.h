// sim/analysis/what_if.h -- the step run again with one thing costing nothing: what an improvement of it can gain at
// most. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/plan/plan.h"
#include "sim/engine/engine.h"

namespace sim {

/// "matmul" "attention" "memory_bound" "host", or for communication its channel's name in the Trace: "tp" "dp" "pp" ...
std::string category_of(const plan::Work&, const std::string& channel);

struct FreeStep {
  std::string free;  // a category
  Ticks saved = 0;   // of the step as it is, both run in chains (engine/chains.h)
};

/// For the host and each category among the plan's operators. `channels`: names, by Operator::channel
/// (Trace::channels).
std::vector<FreeStep> what_if_free(const EngineInput&, const std::vector<std::string>& channels);

}  // namespace sim
