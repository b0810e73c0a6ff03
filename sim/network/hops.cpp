// SPDX-License-Identifier: Apache-2.0
#include "sim/network/hops.h"

#include <numeric>

namespace sim {
namespace {

// GPUs after which the switches repeat; 0: never.
std::int64_t period_of(const spec::Cluster& cluster) {
  using Kind = spec::Fabric::Kind;
  const spec::Fabric& fabric = cluster.fabric;
  if (fabric.kind == Kind::torus || fabric.routing == spec::Fabric::Routing::minimal) return 0;
  const std::int64_t nodes =
      fabric.upper_tiers.empty() ? std::max(1, fabric.leaf_nodes) : fabric.upper_tiers.back().nodes;
  return std::lcm(nodes * cluster.node.gpus, std::int64_t{cluster.node.island()});
}

}  // namespace

std::vector<Run> runs_of(int first, const plan::GroupShape& group, int island) {
  std::vector<Run> runs;
  std::int64_t end = first;  // of the last run's island: a division for each member would be most of the work
  for (int i = 0; i < group.size; ++i) {
    const int rank = first + i * group.layout.stride;
    if (rank >= end) {
      runs.push_back({rank, group.layout.stride, 0});
      end = (std::int64_t{rank} / island + 1) * island;
    }
    ++runs.back().size;
  }
  return runs;
}

int ranks_to_look_at(const plan::Layout& layout, std::int64_t period) {
  if (period == 0) return layout.ranks;
  const std::int64_t both = std::lcm(period, std::int64_t{layout.block});
  return layout.ranks % both == 0 ? static_cast<int>(both) : layout.ranks;
}

int ranks_to_look_at(const plan::Layout& layout, const spec::Cluster& cluster, bool uneven) {
  return ranks_to_look_at(layout, uneven ? 0 : period_of(cluster));
}

int parent_in_tree(int place, int size) {
  if (place == 0) return -1;
  const int lowest = place & -place, parent = (place ^ lowest) | (lowest << 1);
  return parent < size ? parent : place ^ lowest;
}

}  // namespace sim
