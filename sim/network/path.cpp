// sim/network/path.cpp -- see path.h.
// SPDX-License-Identifier: Apache-2.0
#include "sim/network/path.h"

#include <algorithm>
#include <cmath>

namespace sim {
namespace {

// Islands below one leaf switch; 0: all of them, so nothing crosses.
int islands_per_leaf(const spec::Cluster& cluster, int domains) {
  const int nodes = std::max(1, island_gpus(cluster.node) / std::max(1, cluster.node.gpus));
  const int islands = cluster.fabric.leaf_nodes > 0 ? std::max(1, cluster.fabric.leaf_nodes / nodes) : domains;
  return cluster.fabric.kind == spec::Fabric::Kind::single_switch || islands >= domains ? 0 : islands;
}

}  // namespace

int island_gpus(const spec::Node& node) {
  return node.nvlink.via == spec::Switch::none ? node.gpus : std::max(node.gpus, node.nvlink.domain);
}

bool joined_by_nvlink(const spec::Node& node, int members) {
  return node.nvlink.via != spec::Switch::none && node.nvlink.domain > 1 && members <= node.nvlink.domain;
}

base::ByteRate inside_rate(const spec::Node& node, int members, bool over_nvlink) {
  if (over_nvlink) {
    if (node.nvlink.via != spec::Switch::mesh) return node.nvlink.bandwidth;
    return node.nvlink.bandwidth * (static_cast<double>(members - 1) / (node.nvlink.domain - 1));
  }
  if (node.pcie.p2p || node.host.bandwidth.si() <= 0) return node.pcie.bandwidth;
  return std::min(node.pcie.bandwidth, node.host.bandwidth / (2.0 * members));
}

base::ByteRate nic_rate(const spec::Cluster& cluster, int members, int sharing) {
  const spec::Node& node = cluster.node;
  const double cards_near_a_gpu = std::max(1.0, static_cast<double>(node.nic.count) / std::max(1, node.gpus));
  const double cards = static_cast<double>(node.nic.count) * island_gpus(node) / std::max(1, node.gpus);
  return node.nic.bandwidth * std::min(members * cards_near_a_gpu, cards / std::max(1, sharing));
}

double leaf_slowdown_neighbours(const spec::Cluster& cluster, int domains) {
  const int islands = islands_per_leaf(cluster, domains);
  return islands == 0 ? 1.0 : std::max(1.0, cluster.fabric.oversubscription / islands);
}

double leaf_slowdown_all_to_all(const spec::Cluster& cluster, int domains) {
  const int islands = islands_per_leaf(cluster, domains);
  if (islands == 0) return 1.0;
  const double crossing = static_cast<double>(domains - islands) / (domains - 1);  // of what leaves an island
  return std::max(1.0, cluster.fabric.oversubscription * crossing);
}

}  // namespace sim
