// SPDX-License-Identifier: Apache-2.0
#include "sim/topology.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/network/link_load.h"

namespace sim {
namespace {

using plan::Axis;

constexpr int kMostGpus = 256;

/// Axes that cut a stage's ranks into groups of several.
std::vector<Axis> axes_shown(const plan::Axes& axes) {
  std::vector<Axis> out;
  for (const Axis axis : {Axis::tp, Axis::cp, Axis::ep, Axis::dp, Axis::shard}) {
    const bool again = axis == Axis::shard && axes[axis].size == axes[Axis::dp].size;
    if (axes[axis].size > 1 && !again) out.push_back(axis);
  }
  return out;
}

void place_ranks(const plan::Axes& axes, int gpus, result::Topology& out) {
  const std::vector<Axis> shown = axes_shown(axes);
  if (axes.stages > 1) out.axes.push_back("stage");
  for (const Axis axis : shown) out.axes.emplace_back(plan::kAxisNames[static_cast<std::size_t>(axis)]);
  const int ranks = std::min(axes.ranks * axes.stages, out.nodes_shown * gpus);
  std::vector<std::map<std::pair<int, int>, int>> numbers(shown.size());  // of groups, as they are met
  for (int rank = 0; rank < ranks; ++rank) {
    result::PlacedRank placed{rank, rank / gpus, rank % gpus, {}};
    const int stage = axes.stage_of(rank), place = axes.place_of(rank);
    if (axes.stages > 1) placed.groups.push_back(stage);
    for (std::size_t i = 0; i < shown.size(); ++i) {
      const std::pair key{stage, axes[shown[i]].group_of(place)};
      placed.groups.push_back(numbers[i].try_emplace(key, static_cast<int>(numbers[i].size())).first->second);
    }
    out.ranks.push_back(std::move(placed));
  }
}

std::string leaf_name(spec::Fabric::Kind kind) {
  switch (kind) {
    case spec::Fabric::Kind::rail_optimized: return "rail leaves";
    case spec::Fabric::Kind::nvl_rack: return "rail leaves";
    case spec::Fabric::Kind::dragonfly: return "switch";
    case spec::Fabric::Kind::torus: return "torus";
    default: return "leaf";
  }
}

/// `each` nodes below one; 0: all.
void join(const char* what, int tier, int each, double oversubscription, result::Topology& out) {
  if (each <= 0) each = out.nodes;
  for (int first = 0; first < out.nodes_shown; first += each) {
    out.joined.push_back({what, tier, first, std::min(first + each, out.nodes_shown) - 1, oversubscription});
  }
}

void join_nodes(const spec::Cluster& cluster, result::Topology& out) {
  const spec::Fabric& fabric = cluster.fabric;
  const int domain = cluster.node.nvlinked() / std::max(1, cluster.node.gpus);
  int tier = 0, widest = 1;
  if (domain > 1) join("NVLink domain", tier++, domain, 1, out);
  if (cluster.nodes < 2 || !cluster.hosts.empty()) return;
  if (domain < cluster.nodes) {
    widest = fabric.leaf_nodes > 0 ? fabric.leaf_nodes : cluster.nodes;
    join(leaf_name(fabric.kind).c_str(), tier++, widest, fabric.oversubscription, out);
  }
  for (const spec::Tier& above : fabric.upper_tiers) {
    join(fabric.kind == spec::Fabric::Kind::dragonfly ? "group" : "spine", tier++, above.nodes, above.oversubscription,
         out);
    widest = above.nodes > 0 ? above.nodes : cluster.nodes;
  }
  if (widest < cluster.nodes && domain < cluster.nodes) join("core", tier, 0, 1, out);
}

}  // namespace

result::Topology topology(const plan::Plan& plan, const spec::Job& job, double step_s) {
  const spec::Cluster& cluster = job.cluster;
  result::Topology out;
  out.cluster = spec::nodes_text(cluster) + (cluster.nodes > 1 ? ", " + cluster.fabric.name : "");
  out.nodes = cluster.nodes;
  out.nodes_shown = std::clamp(kMostGpus / std::max(1, cluster.node.gpus), 1, cluster.nodes);
  place_ranks(plan.axes, cluster.node.gpus, out);
  join_nodes(cluster, out);
  out.links = link_loads(plan, job, step_s);
  return out;
}

}  // namespace sim
