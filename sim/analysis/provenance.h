// sim/analysis/provenance.h -- where each calibrated number that a plan needs came from.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/plan/plan.h"
#include "core/result/prediction.h"
#include "core/spec/job.h"

namespace sim {

std::vector<result::Provenance> provenance(const spec::Job&, const plan::Plan&);

/// The curve of a network calibration that prices such a collective: "all_reduce", "send" ...
const char* op_name(plan::CollectiveKind);

}  // namespace sim
