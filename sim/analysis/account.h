// sim/analysis/account.h -- a Trace and the memory footprints become the answer that reports print.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/result/prediction.h"
#include "core/spec/job.h"
#include "core/trace/trace.h"
#include "sim/engine/engine.h"
#include "sim/memory/footprint.h"

namespace sim {

/// Fills in everything that follows from the step as it ran, operator by operator or chained.
result::Prediction account(const spec::Job&, const EngineInput&, const trace::Trace&, const std::vector<Footprint>&);

}  // namespace sim
