// SPDX-License-Identifier: Apache-2.0
#include "core/spec/cluster.h"

#include <algorithm>
#include <cstdint>

namespace spec {

int Cluster::places() const {
  std::int64_t places = std::max(nodes, fabric.nodes);
  if (fabric.kind == Fabric::Kind::torus) {
    places = 1;
    for (const int n : fabric.shape) places = std::min<std::int64_t>(places * n, 1'000'000'000);
  }
  return static_cast<int>(places);
}

std::int64_t most_nodes(const Cluster& cluster) {
  const Fabric& fabric = cluster.fabric;
  if (fabric.kind == Fabric::Kind::torus) return cluster.places();
  if (fabric.kind == Fabric::Kind::dragonfly && fabric.groups > 0 && !fabric.upper_tiers.empty())
    return std::int64_t{fabric.groups} * fabric.upper_tiers.front().nodes;
  return cluster.nodes;
}

int placed_domain(const Cluster& cluster) {
  const Node& node = cluster.node;
  if (node.gpus < 1 || node.nvlink.domain <= node.gpus || cluster.gpus() <= node.nvlink.domain)
    return node.nvlink.domain;
  const int whole = node.nvlink.domain / node.gpus;
  for (int nodes = whole; 2 * nodes >= whole; --nodes) {
    if (cluster.nodes % nodes == 0) return nodes * node.gpus;
  }
  return node.nvlink.domain;
}

int Cluster::kind_of_rank(int rank) const {
  int kind = 0;
  for (int first = 0; kind + 1 < kinds(); ++kind) {
    first += groups[kind].nodes * node.gpus;
    if (rank < first) break;
  }
  return kind;
}

Cluster Cluster::of_kind(int kind) const {
  Cluster out = *this;
  out.node = node_of(kind);
  out.groups.clear();
  return out;
}

std::string gpus_text(const Cluster& cluster) {
  return std::to_string(cluster.gpus()) + (cluster.gpus() == 1 ? " GPU" : " GPUs");
}

std::string nodes_text(const Cluster& cluster) {
  const auto text = [](int nodes, const Node& node) { return std::to_string(nodes) + " x " + node.name; };
  if (!cluster.mixed()) return text(cluster.nodes, cluster.node);
  std::string out;
  for (const NodeGroup& group : cluster.groups) out += (out.empty() ? "" : " + ") + text(group.nodes, group.node);
  return out;
}

}  // namespace spec
