// sim/analysis/traffic.h -- what one rank sent by each axis of parallelism, how often and at which bus bandwidth.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "core/plan/plan.h"
#include "core/result/prediction.h"
#include "core/trace/trace.h"

namespace sim {

/// Of the rank whose streams begin at track `first`, one entry an axis that was used, by name.
std::vector<result::Communication> communication(const plan::Plan&, const trace::Trace&, std::size_t first);

}  // namespace sim
