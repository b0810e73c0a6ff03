// sim/network/traffic.h -- the flows of all groups of an axis at once: one for each pair of neighbours, with the full
// volume of the algorithm.
//
//   ring, tree, all_to_all  hops between islands (sim/network/hops.h), split over the members there
//   shift       each member sends 1 to the next; only hops between islands count
//   send        the first of each pair sends 1 to the second
//   inside      rings among the members of each island (both ways between two), over whatever joins them
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/plan/work.h"
#include "core/spec/cluster.h"
#include "sim/network/path.h"

namespace sim {

struct Flow {
  int source = 0, target = 0;  // ranks
  double volume = 0;
};

struct Traffic {
  std::vector<Flow> flows;
  /// What one group sends out of the island that sends most (shift, send, inside: one rank).
  double busiest = 0;
};

/// Flows between islands. Where the layout repeats with the switches, only its first period: the rest are copies on
/// links of their own; all of them where `uneven`: no two switches are alike. Groups leave a node by members whose
/// cards are there. REQUIRES: group.layout is told (ranks > 0), and lies within the cluster.
Traffic traffic_between(Pattern, const plan::GroupShape&, const spec::Cluster&, const Cards& = {}, bool uneven = false);
Traffic traffic_inside(const plan::GroupShape&, const spec::Cluster&);

}  // namespace sim
