// SPDX-License-Identifier: Apache-2.0
#include "core/spec/cluster.h"

namespace spec {

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

std::string nodes_text(const Cluster& cluster) {
  const auto text = [](int nodes, const Node& node) { return std::to_string(nodes) + " x " + node.name; };
  if (!cluster.mixed()) return text(cluster.nodes, cluster.node);
  std::string out;
  for (const NodeGroup& group : cluster.groups) out += (out.empty() ? "" : " + ") + text(group.nodes, group.node);
  return out;
}

}  // namespace spec
