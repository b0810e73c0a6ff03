// sim/explain.h -- why a step takes as long as it does, and what would shorten it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result/explanation.h"
#include "core/spec/job.h"

namespace sim {

/// Predicts the step, walks its critical path, and predicts it once more for every thing that could be free. REQUIRES:
/// check(job).empty() and resolved (config::read_job does both).
result::Explanation explain(const spec::Job&);

}  // namespace sim
