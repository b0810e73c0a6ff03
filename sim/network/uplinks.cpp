// SPDX-License-Identifier: Apache-2.0
#include "sim/network/uplinks.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <vector>

#include "sim/network/hops.h"

namespace sim {
namespace {

// What crosses into and out of the switches of one tier.
class Tier {
 public:
  Tier(int nodes, double reduced, const spec::Cluster& cluster)
      : nodes_(std::max(1, nodes)),
        reduced_(reduced),
        above_(static_cast<std::size_t>(std::max(cluster.places(), cluster.nodes))),
        out_((above_.size() + static_cast<std::size_t>(nodes_) - 1) / static_cast<std::size_t>(nodes_)),
        in_(out_.size()) {
    for (std::size_t place = 0; place < above_.size(); ++place) above_[place] = static_cast<int>(place) / nodes_;
  }
  void add(int from, int to, double volume) {
    const int a = above_[static_cast<std::size_t>(from)], b = above_[static_cast<std::size_t>(to)];
    if (a == b) return;
    out_[static_cast<std::size_t>(a)] += volume;
    in_[static_cast<std::size_t>(b)] += volume;
  }
  /// Of the fullest switch, over the nodes that its uplinks are worth.
  double fullest() const {
    const double most =
        std::max(*std::max_element(out_.begin(), out_.end()), *std::max_element(in_.begin(), in_.end()));
    return most * reduced_ / nodes_;
  }

 private:
  int nodes_;
  double reduced_;
  std::vector<int> above_;  // the switch above each place: looked up for every hop, cheaper than a division
  std::vector<double> out_, in_;
};

std::vector<Tier> narrow_tiers(const spec::Cluster& cluster) {
  std::vector<Tier> out;
  double reduced = 1;
  const auto consider = [&](int nodes, double oversubscription) {
    reduced *= oversubscription;
    if (reduced > 1 && nodes < cluster.places()) out.emplace_back(nodes, reduced, cluster);
  };
  consider(cluster.fabric.leaf_nodes, cluster.fabric.oversubscription);
  for (const spec::Tier& tier : cluster.fabric.upper_tiers) consider(tier.nodes, tier.oversubscription);
  return out;
}

// What the island of a group that sends most sends, in the volumes of for_each_hop.
double busiest(Pattern pattern, const std::vector<Run>& runs) {
  std::vector<double> leaving(runs.size(), 0);
  for_each_hop(pattern, runs, [&](std::size_t from, std::size_t, double volume) { leaving[from] += volume; });
  return *std::max_element(leaving.begin(), leaving.end());
}

}  // namespace

bool has_narrow_uplinks(const spec::Cluster& cluster) {
  using Kind = spec::Fabric::Kind;
  const spec::Fabric& fabric = cluster.fabric;
  if (fabric.kind == Kind::single_switch || fabric.kind == Kind::torus || fabric.leaf_nodes < 1) return false;
  return fabric.oversubscription > 1 || std::any_of(fabric.upper_tiers.begin(), fabric.upper_tiers.end(),
                                                    [](const spec::Tier& t) { return t.oversubscription > 1; });
}

double slowdown_of_uplinks(const spec::Cluster& cluster, const plan::GroupShape& group, Pattern pattern,
                           base::ByteRate rate) {
  assert(group.layout.ranks > 0 && group.layout.ranks <= cluster.gpus());
  std::vector<Tier> tiers = narrow_tiers(cluster);
  if (tiers.empty()) return 1;
  const int island = cluster.node.island(), gpus = std::max(1, cluster.node.gpus);
  const bool members = pattern == Pattern::shift || pattern == Pattern::send;
  const auto add = [&](int source, int target, double volume) {
    const int from = cluster.place_of(source / gpus), to = cluster.place_of(target / gpus);
    for (Tier& tier : tiers) tier.add(from, to, volume);
  };
  double most = 1;
  for_each_group(group, ranks_to_look_at(group.layout, cluster, !cluster.hosts.empty()), [&](int first) {
    if (members) return for_each_member_hop(pattern, first, group, island, [&](int a, int b) { add(a, b, 1); });
    const std::vector<Run> runs = runs_of(first, group, island);
    if (runs.size() < 2) return;
    most = std::max(most, busiest(pattern, runs));
    for_each_hop(pattern, runs, [&](std::size_t from, std::size_t to, double volume) {
      const Run &a = runs[from], &b = runs[to];
      if (island <= gpus) return add(a.first, b.first, volume);
      // Members side by side, as traffic.cpp has them: an island of several nodes may lie below several switches.
      const auto lanes = static_cast<std::size_t>(std::max(a.size, b.size));
      for (std::size_t i = 0; i < lanes; ++i) add(a.member(i), b.member(i), volume / static_cast<double>(lanes));
    });
  });
  double slowest = 1;
  const base::ByteRate of_a_node = cluster.node.nic.bandwidth * cluster.node.nic.count;
  for (const Tier& tier : tiers)
    slowest = std::max(slowest, tier.fullest() / (members ? 1 : most) * (rate / of_a_node));
  return slowest;
}

}  // namespace sim
