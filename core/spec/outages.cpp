// SPDX-License-Identifier: Apache-2.0
#include "core/spec/outages.h"

#include <algorithm>
#include <cmath>

namespace spec {

bool LinkFault::dead() const { return std::isinf(factor); }

std::vector<LinkFault> Outages::links() const {
  std::vector<LinkFault> all = slow_links;
  all.insert(all.end(), dead_links.begin(), dead_links.end());
  return all;
}

bool Outages::in_fabric() const {
  const std::vector<LinkFault> all = links();
  return std::any_of(all.begin(), all.end(), [](const LinkFault& link) { return !link.in_a_node(); });
}

int ports(const Node& node) { return std::min(node.nic.count, std::max(1, node.gpus)); }

std::vector<double> ports_left(const Outages& outages, const Node& node, int number) {
  std::vector<double> cards(static_cast<std::size_t>(node.nic.count), 1.0);
  for (const LinkFault& link : outages.links()) {
    if (link.node != number) continue;
    for (std::size_t c = 0; c < cards.size(); ++c) {
      if (link.card < 0 || c == static_cast<std::size_t>(link.card)) cards[c] /= link.factor;
    }
  }
  for (const LostNics& lost : outages.lost_nics) {
    if (lost.node != number) continue;
    int left = lost.count;
    for (double& card : cards) {
      if (left > 0 && card > 0) card = 0, --left;
    }
  }
  const auto count = static_cast<std::size_t>(ports(node));
  std::vector<double> out(count, 0.0);
  const double of_a_port = static_cast<double>(cards.size()) / static_cast<double>(std::max<std::size_t>(1, count));
  for (std::size_t c = 0; c < cards.size(); ++c) out[c * count / cards.size()] += cards[c] / of_a_port;
  for (double& left : out) left = std::min(left, 1.0);
  return out;
}

int rails(const Cluster& cluster) {
  const Fabric::Kind kind = cluster.fabric.kind;
  const bool by_place = kind == Fabric::Kind::rail_optimized || kind == Fabric::Kind::nvl_rack;
  return by_place ? std::max(1, ports(cluster.node)) : 1;
}

int tiers(const Fabric& fabric) {
  const bool switched = fabric.kind != Fabric::Kind::single_switch && fabric.kind != Fabric::Kind::torus;
  return switched && fabric.leaf_nodes > 0 ? 1 + static_cast<int>(fabric.upper_tiers.size()) : 0;
}

namespace {

int nodes_below(const Fabric& fabric, int tier) {
  return tier == 0 ? fabric.leaf_nodes : fabric.upper_tiers[static_cast<std::size_t>(tier - 1)].nodes;
}

}  // namespace

int switches(const Cluster& cluster, int tier) {
  const int below = nodes_below(cluster.fabric, tier);
  return (cluster.places() + below - 1) / below;
}

int uplinks(const Cluster& cluster, int tier) {
  double reduced = cluster.fabric.oversubscription;
  for (int t = 0; t < tier; ++t) reduced *= cluster.fabric.upper_tiers[static_cast<std::size_t>(t)].oversubscription;
  const double down = static_cast<double>(nodes_below(cluster.fabric, tier)) * ports(cluster.node) / rails(cluster);
  return std::max(1, static_cast<int>(std::lround(down / reduced)));
}

int dragonfly_groups(const Cluster& cluster) {
  const int tier = tiers(cluster.fabric) - 1;
  return tier < 1 ? 0 : std::max({2, cluster.fabric.groups, switches(cluster, tier)});
}

}  // namespace spec
