// sim/network/path.cpp -- see path.h.
// SPDX-License-Identifier: Apache-2.0
#include "sim/network/path.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "sim/network/card_load.h"
#include "sim/network/traffic.h"
#include "sim/network/uplinks.h"

namespace sim {
namespace {

using Kind = spec::Fabric::Kind;

// A tier whose switches hold fewer islands than a group has.
struct Cut {
  int islands;     // below one switch
  double reduced;  // downlinks of the leaves over uplinks of this tier: the oversubscription so far
};

std::vector<Cut> cuts(const spec::Cluster& cluster, int domains) {
  const spec::Fabric& fabric = cluster.fabric;
  std::vector<Cut> out;
  if (fabric.kind == Kind::single_switch || fabric.kind == Kind::torus || fabric.leaf_nodes < 1) return out;
  const int nodes = std::max(1, cluster.node.island() / std::max(1, cluster.node.gpus));
  double reduced = 1;
  const auto consider = [&](int nodes_below, double oversubscription) {
    reduced *= oversubscription;
    const int islands = std::max(1, nodes_below / nodes);
    if (islands < domains) out.push_back({islands, reduced});
  };
  consider(fabric.leaf_nodes, fabric.oversubscription);
  for (const spec::Tier& tier : fabric.upper_tiers) consider(tier.nodes, tier.oversubscription);
  return out;
}

// Links between two groups of a dragonfly that a group's uplinks are dealt out to, where packets use no others.
int direct_links(const spec::Cluster& cluster) {
  const spec::Fabric& fabric = cluster.fabric;
  if (fabric.kind != Kind::dragonfly || fabric.routing != spec::Fabric::Routing::minimal) return 0;
  const int nodes = std::max(1, fabric.upper_tiers.back().nodes);
  return std::max({2, fabric.groups, (cluster.nodes + nodes - 1) / nodes}) - 1;
}

// A node's cards over one link of its torus.
double torus_ratio(const spec::Cluster& cluster) {
  return cluster.node.nic.bandwidth * cluster.node.nic.count / cluster.fabric.link;
}

}  // namespace

bool takes_sms(const plan::Transfer& transfer, const spec::Node& node) {
  return !transfer.crosses_domain && joined_by_nvlink(node, 2);
}

bool joined_by_nvlink(const spec::Node& node, int members) { return node.nvlinked() > 1 && members <= node.nvlinked(); }

bool shares_host_memory(const spec::Node& node, bool over_nvlink) {
  return !over_nvlink && !node.pcie.p2p && node.host.bandwidth.si() > 0;
}

base::ByteRate inside_rate(const spec::Node& node, int members, bool over_nvlink, int senders) {
  if (over_nvlink) {
    if (node.nvlink.via != spec::Switch::mesh) return node.nvlink.bandwidth;
    return node.nvlink.bandwidth * (static_cast<double>(members - 1) / (node.nvlink.domain - 1));
  }
  if (!shares_host_memory(node, over_nvlink)) return node.pcie.bandwidth;
  return std::min(node.pcie.bandwidth, node.host.bandwidth / (2.0 * senders));
}

base::ByteRate nic_rate(const spec::Cluster& cluster, int members, int sharing) {
  const spec::Node& node = cluster.node;
  const double cards_near_a_gpu = std::max(1.0, static_cast<double>(node.nic.count) / std::max(1, node.gpus));
  const double cards = static_cast<double>(node.nic.count) * node.island() / std::max(1, node.gpus);
  return node.nic.bandwidth * std::min(members * cards_near_a_gpu, cards / std::max(1, sharing));
}

double slowdown_neighbours(const spec::Cluster& cluster, int domains) {
  double slowest = 1;
  if (cluster.fabric.kind == Kind::torus) return domains > 1 ? std::max(slowest, torus_ratio(cluster)) : slowest;
  const std::vector<Cut> crossed = cuts(cluster, domains);
  for (const Cut& cut : crossed) slowest = std::max(slowest, cut.reduced / cut.islands);
  const bool leaves_group = crossed.size() == cluster.fabric.upper_tiers.size() + 1;
  if (const int links = direct_links(cluster); links > 0 && leaves_group) {
    slowest = std::max(slowest, crossed.back().reduced * links / crossed.back().islands);
  }
  return slowest;
}

double slowdown_all_to_all(const spec::Cluster& cluster, int domains) {
  double slowest = 1;
  if (domains < 2) return slowest;
  const double others = domains - 1.0;
  if (cluster.fabric.kind == Kind::torus) {
    int left = domains;
    for (int size : cluster.fabric.shape) {
      const int along = std::min(size, left);  // consecutive nodes fill one dimension after another
      left = (left + size - 1) / size;
      // Pairs along one line whose way leads over its busiest link in one direction.
      const double n = along, pairs = along == size ? (n * n - along % 2) / 8 : (along / 2) * (n - along / 2);
      slowest = std::max(slowest, torus_ratio(cluster) * pairs * (domains / n) / others);
    }
    return slowest;
  }
  const std::vector<Cut> crossed = cuts(cluster, domains);
  for (const Cut& cut : crossed) slowest = std::max(slowest, cut.reduced * (domains - cut.islands) / others);
  const bool leaves_group = crossed.size() == cluster.fabric.upper_tiers.size() + 1;
  if (const int links = direct_links(cluster); links > 0 && leaves_group) {
    slowest = std::max(slowest, crossed.back().reduced * links * crossed.back().islands / others);
  }
  return slowest;
}

/// At once, in the node that has most.
int Paths::flows_of_a_node(const plan::GroupShape& group) const {
  const auto [at, fresh] = flows_.try_emplace(group, 0);
  if (!fresh) return at->second;
  std::map<int, int> by_node;
  for (const Flow& flow : traffic_inside(group, cluster_).flows) {
    at->second = std::max(at->second, ++by_node[flow.source / cluster_.node.gpus]);
  }
  return at->second;
}

base::ByteRate Paths::inside(const plan::GroupShape& group, int members, bool over_nvlink) const {
  const bool shared = shares_host_memory(cluster_.node, over_nvlink) && group.layout.ranks > 0;
  const int senders = shared ? std::max(members, flows_of_a_node(group)) : members;
  return inside_rate(cluster_.node, members, over_nvlink, senders);
}

double Paths::slowdown(const plan::GroupShape& group, Pattern pattern, base::ByteRate rate) const {
  const auto by_shape = [&]() -> double {
    switch (pattern) {
      case Pattern::ring:
      case Pattern::tree:
      case Pattern::shift: return slowdown_neighbours(cluster_, group.domains);
      case Pattern::all_to_all: return slowdown_all_to_all(cluster_, group.domains);
      case Pattern::send: break;  // stages do not know their leaf; on a torus every hop takes at least one link
    }
    return cluster_.fabric.kind == Kind::torus ? slowdown_neighbours(cluster_, 2) : 1;
  };
  if (group.layout.ranks < 1 || !has_narrow_uplinks(cluster_)) return by_shape();
  const auto [at, fresh] = slowdowns_.try_emplace({pattern, group}, 1.0);
  if (!fresh) return at->second;
  const double direct = direct_links(cluster_) > 0 ? by_shape() : 1;
  return at->second = std::max(direct, slowdown_of_uplinks(cluster_, group, pattern, rate));
}

/// Who leaves an island in a shift are neighbours, as many as ranks lie between members, which fill a card before the
/// next: as many groups as leave it with all of its cards where the fullest has as many (crowded() of
/// core/plan/group_shape.cpp says so of the hops between stages).
int Paths::sharing_in_shift(const plan::GroupShape& group) const {
  const spec::Node& node = cluster_.node;
  if (group.layout.ranks == 0 || node.nic.count >= node.gpus || node.nic.count == 0) return group.sharing;
  const int of_a_card = (node.gpus + node.nic.count - 1) / node.nic.count;
  return std::max(group.sharing,
                  std::min(group.layout.stride, of_a_card) * node.nic.count * (node.island() / node.gpus));
}

double Paths::slowdown_of_its_cards(const plan::GroupShape& group) const {
  const auto [at, fresh] = by_cards_.try_emplace(group, 1.0);
  if (fresh) at->second = slowdown_of_cards(cards_, group, cluster_);
  return at->second;
}

base::ByteRate Paths::between(const plan::GroupShape& group, int members, Pattern pattern) const {
  const bool one = pattern == Pattern::shift || pattern == Pattern::send;
  // The slower of the links between nodes and of the slowest node's cards: both carry the same bytes.
  const int sending = one ? 1 : members;
  const int sharing = pattern == Pattern::shift ? sharing_in_shift(group) : group.sharing;
  const base::ByteRate rate = nic_rate(cluster_, sending, sharing);
  const double by_cards =
      one || group.layout.ranks < 1 ? cards_.slowdown(sending, sharing) : slowdown_of_its_cards(group);
  return rate / std::max(slowdown(group, pattern, rate), by_cards);
}

}  // namespace sim
