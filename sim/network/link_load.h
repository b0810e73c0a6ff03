// sim/network/link_load.h -- how busy a step's communication keeps the links of the fabric.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/plan/plan.h"
#include "core/result/topology.h"
#include "core/spec/job.h"

namespace sim {

/// Of each kind of link and axis that uses it the bytes over the busiest link in one step of `step_s` seconds, every
/// collective as a ring of neighbours (all_to_all: each to each), all groups of an axis at once, on the links of
/// sim/network/wires.h. Leaves out: in-switch reduction, transfers between pipeline stages inside an island.
std::vector<result::LinkLoad> link_loads(const plan::Plan&, const spec::Job&, double step_s);

}  // namespace sim
