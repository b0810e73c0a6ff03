// core/spec/outages.h -- links and network cards that are slow or gone. Plain values of `simulation`; what they do to
// rates is sim/network's affair. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "core/spec/cluster.h"

namespace spec {

/// Links of one place, both directions: a node's cards (`card`: one of them), the uplinks of a switch (`tier` 0: of a
/// leaf, t: of upper_tiers[t - 1]; `rail`: of one of the leaves side by side), or the link between two groups.
struct LinkFault {
  int node = -1;      // of the job, as ranks count: node n holds ranks n * gpus and on
  double factor = 1;  // bytes take this many times as long; infinite: the link is dead
  int card = -1;      // -1: all of the node's
  int tier = -1, at = -1, rail = -1;
  int count = 0;           // uplinks concerned; 0: all of the switch's
  int from = -1, to = -1;  // groups of a dragonfly with minimal routing
  bool dead() const;       // no byte passes
  bool in_a_node() const { return node >= 0; }
};

struct LostNics {
  int node = 0, count = 1;  // its first cards that are not dead already
};

struct Outages {
  std::uint64_t seed = 1;  // of what is drawn: a kernel's jitter, the uplinks of ECMP
  std::vector<LinkFault> slow_links = {}, dead_links = {};
  std::vector<LostNics> lost_nics = {};

  bool any() const { return !slow_links.empty() || !dead_links.empty() || !lost_nics.empty(); }
  bool in_fabric() const;                // some of it is no node's
  std::vector<LinkFault> links() const;  // slow and dead
};

/// Cards of a node that its GPUs are told apart by: neighbours share one where there are fewer cards than GPUs, several
/// are one port where there are more. 0: no cards.
int ports(const Node&);

/// What is left of the rate of each port of that node, 0 to 1. REQUIRES: cards that exist.
std::vector<double> ports_left(const Outages&, const Node&, int node);

/// Leaves side by side that the cards of a node go to: as many as ports where leaves join cards of one place.
int rails(const Cluster&);
/// Switches of a tier (on one rail) and the uplinks of one, each of the rate of a port. REQUIRES: there is that tier.
int switches(const Cluster&, int tier);
int uplinks(const Cluster&, int tier);
/// Tiers of switches that are told apart, the leaves among them; 0: one switch, or none.
int tiers(const Fabric&);
/// Groups of a dragonfly, those without nodes of this cluster among them.
int dragonfly_groups(const Cluster&);

}  // namespace spec
