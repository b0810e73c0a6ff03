// sim/prices.h -- the price of every work of a plan, each kind by its own family.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/base/units.h"
#include "core/plan/plan.h"
#include "core/spec/job.h"
#include "sim/engine/engine.h"

namespace sim {

/// prices[i] is of plan.works[i], alone on an idle GPU and on wires that carry only the groups of its axis. Of a mixed
/// cluster: on the least able GPUs.
std::vector<base::Seconds> prices_of(const plan::Plan&, const spec::Cluster&, const spec::Network& = {},
                                     const spec::Outages& = {});

/// The plan with its prices on every kind of node, ready to run. REQUIRES: the plan outlives it.
EngineInput priced(const plan::Plan&, const spec::Job&);

}  // namespace sim
