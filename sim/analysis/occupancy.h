// sim/analysis/occupancy.h -- whether a step fits: the memory of each stage, of the host and its drives.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/result/prediction.h"
#include "core/spec/job.h"
#include "core/trace/trace.h"
#include "sim/engine/engine.h"
#include "sim/memory/footprint.h"

namespace sim {

/// Fills every figure of memory, `fits` and what to attack; `footprints` are of the plan's roles, in their order.
void account_memory(const spec::Job&, const EngineInput&, const trace::Trace&, const std::vector<Footprint>&,
                    result::Prediction&);

}  // namespace sim
