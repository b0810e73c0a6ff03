// sim/topology.h -- where a job's ranks sit and how busy the links between them are.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/plan.h"
#include "core/result/topology.h"
#include "core/spec/job.h"

namespace sim {

/// For a step of `step_s` seconds. Ranks of the first nodes only, as many as a drawing has room for; what joins nodes
/// is told where they stand in the fabric in order. REQUIRES: the job's own plan.
result::Topology topology(const plan::Plan&, const spec::Job&, double step_s);

}  // namespace sim
