// sim/prices.h -- the price of every work of a plan, each kind by its own family.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/base/units.h"
#include "core/plan/plan.h"
#include "core/spec/job.h"

namespace sim {

/// prices[i] is of plan.works[i], alone on an idle GPU and on wires that carry only the groups of its axis.
std::vector<base::Seconds> prices_of(const plan::Plan&, const spec::Job&);
std::vector<base::Seconds> prices_of(const plan::Plan&, const spec::Cluster&, const spec::Network& = {});

}  // namespace sim
