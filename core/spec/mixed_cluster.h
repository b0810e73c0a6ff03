// core/spec/mixed_cluster.h -- rules for a cluster of several kinds of node.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/base/fault.h"
#include "core/spec/job.h"

namespace spec {

/// Of the groups a cluster is made of, the one whose GPUs are the least able: the oldest generation, then the lowest
/// peak. REQUIRES: a mixed cluster.
int least_able(const Cluster&);

/// Whether all nodes have as many GPUs.
bool even_nodes(const Cluster&);

/// What only a mixed cluster can get wrong; none otherwise. Each group obeys the rules of a whole cluster, too.
std::vector<base::Fault> mixed_cluster_faults(const Job&);

}  // namespace spec
