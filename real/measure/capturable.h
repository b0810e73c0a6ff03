// real/measure/capturable.h -- which steps can be captured in CUDA graphs (strategy.cuda_graphs). The host may wait
// between the passes and the update, where a graph ends and another begins; everything else is to be known before the
// step runs. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/base/fault.h"
#include "core/plan/plan.h"
#include "core/spec/job.h"

namespace real {

/// What keeps the job's steps from being captured, each by name. Empty for jobs without strategy.cuda_graphs.
std::vector<base::Fault> uncapturable(const spec::Job&, const plan::Plan&);

}  // namespace real
