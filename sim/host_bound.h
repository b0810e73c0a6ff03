// sim/host_bound.h -- a step whose pace the host sets, and what would help.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "core/result/prediction.h"
#include "core/spec/job.h"

namespace sim {

/// A warning where GPUs wait for their host in more than 30 % of the step; nothing otherwise. For one prediction that
/// is shown: rows of a comparison have the share of the host as a figure. REQUIRES: the prediction is predict()'s of
/// this job.
std::optional<std::string> host_bound(const spec::Job&, const result::Prediction&);

}  // namespace sim
