// core/result/topology.h -- where a job's ranks sit, what joins them, and how busy that is; for drawings.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace result {

/// A rank on its GPU. `groups`: which group of each axis it is in, in the order of Topology::axes.
struct PlacedRank {
  int rank = 0, node = 0, gpu = 0;  // gpu: its place in the node
  std::vector<int> groups;
};

/// Nodes that one thing joins: an NVLink domain, a leaf (or the leaves of all rails), a switch further up.
struct JoinedNodes {
  std::string what;  // "NVLink domain", "leaf", "tier 2"
  int tier = 0;      // 0: nearest to the nodes
  int first = 0, last = 0;
  double oversubscription = 1;  // downlink over uplink capacity
};

/// The links of one kind. `busy` is what one axis's traffic takes on the busiest of them, alone and at the full rate,
/// over the step time.
struct LinkLoad {
  std::string link, axis;  // "nic up", "dp"
  double bytes = 0;        // over the busiest link in a step
  double capacity = 0;     // bytes/s of one link, one direction
  double busy = 0;         // share of the step
};

struct Topology {
  std::string cluster;  // "8 x dgx-h100, rail-400g"
  int nodes = 0, nodes_shown = 0;
  std::vector<std::string> axes;  // with more than one rank a group; "pp" is the stage
  std::vector<PlacedRank> ranks;  // of the nodes shown
  std::vector<JoinedNodes> joined;
  std::vector<LinkLoad> links;
};

}  // namespace result
