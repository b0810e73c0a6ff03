// sim/analysis/account.h -- a Trace and the memory footprints become the answer that reports print.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/plan/plan.h"
#include "core/result/prediction.h"
#include "core/spec/job.h"
#include "core/trace/trace.h"
#include "sim/memory/footprint.h"

namespace sim {

/// Fills in everything that follows from the step as it ran.
result::Prediction account(const spec::Job&, const plan::Plan&, const trace::Trace&, const std::vector<Footprint>&);

/// The interval around a prediction without residuals of its own: this share to either side.
inline constexpr double kStatedInterval = 0.15;

}  // namespace sim
