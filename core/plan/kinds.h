// core/plan/kinds.h -- on which kinds of node of a mixed cluster the ranks of a role sit.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/plan/plan.h"
#include "core/spec/cluster.h"

namespace plan {

/// Of a role's `place`-th rank.
int rank_of(const Plan&, const Role&, int place);

/// Numbers of Cluster::groups, ascending; {0} where all nodes are alike.
std::vector<int> kinds_of(const Plan&, const Role&, const spec::Cluster&);

}  // namespace plan
