// tests/sim/network/uplinks_test.cpp -- fullest uplinks worked out on paper, and against the routes of
// sim/network/wires.h. SPDX-License-Identifier: Apache-2.0
#include "sim/network/uplinks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "core/plan/group_shape.h"
#include "sim/network/traffic.h"
#include "sim/network/wires.h"
#include "tests/support/toy.h"

namespace {

using base::GBps;
using sim::Pattern;
using Kind = spec::Fabric::Kind;

/// Nodes of 8 GPUs with a card of 10 GB/s each.
spec::Cluster tree(int nodes, int leaf_nodes, double oversubscription) {
  spec::Cluster c = toy::cluster(8 * nodes);
  c.fabric.kind = Kind::fat_tree;
  c.fabric.leaf_nodes = leaf_nodes;
  c.fabric.oversubscription = oversubscription;
  return c;
}

double slowdown(const spec::Cluster& c, const plan::GroupShape& group, Pattern pattern) {
  const bool one = pattern == Pattern::shift || pattern == Pattern::send;
  const int members = one ? 1 : group.per_domain;
  return sim::nic_rate(c, members, group.sharing) / sim::Paths(c).between(group, members, pattern);
}
double slowdown(const spec::Cluster& c, int stride, int size, Pattern pattern) {
  return slowdown(c, plan::group_shape(stride, size, c, c.gpus()), pattern);
}

TEST(Uplinks, GroupsThatDoNotDivideLeavesFillTheWorstOfThem) {
  // Groups of 8 nodes over leaves of 6, 4:1, so uplinks for 1.5 nodes. The second of four leaves holds two nodes of the
  // first group and four of the second: an even share to each of 7 others is 2 x 6/7 + 4 x 4/7 = 4 nodes' traffic.
  EXPECT_NEAR(slowdown(tree(24, 6, 4), 1, 64, Pattern::all_to_all), 4 / 1.5, 1e-12);
  // Leaves of 8: nobody leaves. One group over 16 nodes: 8 nodes send 8/15 into uplinks for two.
  EXPECT_NEAR(slowdown(tree(24, 8, 4), 1, 64, Pattern::all_to_all), 1, 1e-12);
  EXPECT_NEAR(slowdown(tree(16, 8, 4), 1, 128, Pattern::all_to_all), 8 * 8.0 / 15 / 2, 1e-12);
}

TEST(Uplinks, RingsPayForTheHopsThatLeave) {
  // Over every 8th node of leaves of 8: all hops cross, all cards into a quarter. In order: one node in eight crosses.
  EXPECT_NEAR(slowdown(tree(64, 8, 4), 64, 8, Pattern::ring), 4, 1e-12);
  EXPECT_NEAR(slowdown(tree(64, 8, 4), 8, 64, Pattern::ring), 1, 1e-12);
  EXPECT_NEAR(slowdown(tree(64, 8, 16), 8, 64, Pattern::ring), 2, 1e-12);
  // Rings of 4 nodes over leaves of 6: the first leaf has the whole of one ring and half of another, whose two hops
  // over its edge leave and come back: one of each six nodes' cards goes up, into 6/8 at 8:1.
  EXPECT_NEAR(slowdown(tree(12, 6, 8), 8, 4, Pattern::ring), 1 / 0.75, 1e-12);
}

TEST(Uplinks, AnIslandOfSeveralNodesSendsFromAllOfThem) {
  // Islands of 4 nodes over leaves of 2, 2:1, one ring of all: each leaf's 2 nodes send what an island's 4 do in half,
  // so that all cards of a leaf go up into half as many.
  spec::Cluster c = tree(8, 2, 2);
  c.node.nvlink.domain = 32;
  EXPECT_NEAR(slowdown(c, 1, 64, Pattern::ring), 2, 1e-12);
  c.fabric.leaf_nodes = 4;  // a leaf an island: as much
  EXPECT_NEAR(slowdown(c, 1, 64, Pattern::ring), 2, 1e-12);
}

TEST(Uplinks, TransfersBetweenStagesPayWhenTheyLeave) {
  // Stages 8 nodes apart: every card of a leaf of 8 sends up. One node apart: one in eight.
  const auto of = [](int stride) {
    const spec::Cluster c = tree(64, 8, 4);
    const plan::Transfer hop = plan::stage_hop(stride, c, c.gpus());
    return slowdown(c, {2, 1, 2, hop.sharing, hop.layout}, Pattern::send);
  };
  EXPECT_NEAR(of(64), 4, 1e-12);
  EXPECT_NEAR(of(8), 1, 1e-12);
}

TEST(Uplinks, NodesArePlacedWhereTheJobSays) {
  // Two leaves of 2 nodes, 2:1. Rings of two nodes in order stay below their leaf; with the middle two swapped both
  // rings cross with both hops: two nodes of a leaf send up what one may.
  spec::Cluster c = tree(4, 2, 2);
  EXPECT_NEAR(slowdown(c, 8, 2, Pattern::ring), 1, 1e-12);
  c.hosts = {0, 2, 1, 3};
  EXPECT_NEAR(slowdown(c, 8, 2, Pattern::ring), 2, 1e-12);
}

TEST(Uplinks, OfRandomLayoutsAreTheFullestOfTheRoutes) {
  // The oracle adds each flow of every group to the links of its route. Where lanes spread over all cards alike, so do
  // rails; odd strides, cut ends, random places and two tiers included.
  std::mt19937 random(17);
  const auto pick = [&](std::initializer_list<int> of) { return *(of.begin() + random() % of.size()); };
  int narrow = 0;
  for (int i = 0; i < 600; ++i) {
    spec::Cluster c = tree(pick({12, 16, 24}), pick({2, 3, 4, 6}), pick({1, 2, 4, 8}));
    c.fabric.kind = pick({0, 1}) == 0 ? Kind::fat_tree : Kind::dragonfly;
    if (c.fabric.kind == Kind::dragonfly || pick({0, 1}) == 0) c.fabric.upper_tiers = {{2 * c.fabric.leaf_nodes, 2}};
    c.node.gpus = c.node.nvlink.domain = pick({1, 2, 4});
    c.node.nic.count = pick({1, 2, 4});
    if (pick({0, 1, 2}) == 0) {
      c.hosts.resize(static_cast<std::size_t>(c.nodes));
      std::iota(c.hosts.begin(), c.hosts.end(), 0);
      std::shuffle(c.hosts.begin(), c.hosts.end(), random);
    }
    const int size = pick({2, 3, 4, 6, 8}), stride = pick({1, 2, 3, 4, 6, 8});
    if (stride * (size - 1) >= c.gpus()) continue;
    const plan::GroupShape group = plan::group_shape(stride, size, c, c.gpus());
    if (group.domains < 2) continue;
    const sim::Wires wires(c);
    for (const Pattern p : {Pattern::ring, Pattern::tree, Pattern::all_to_all, Pattern::shift}) {
      if (p == Pattern::shift && c.node.nic.count < c.node.gpus) continue;  // neighbours share a card: shift_test.cpp
      const sim::Traffic traffic = sim::traffic_between(p, group, c, {}, true);
      if (traffic.flows.empty()) continue;
      std::map<sim::Wires::Link, double> volume;
      for (const sim::Flow& flow : traffic.flows) {
        std::vector<sim::Wires::Link> route;
        wires.route(flow.source, flow.target, route);
        for (const sim::Wires::Link link : route) volume[link] += flow.volume / traffic.busiest;
      }
      const base::ByteRate rate = sim::nic_rate(c, p == Pattern::shift ? 1 : group.per_domain, group.sharing);
      double fullest = 1;
      for (const auto& [link, of] : volume) {
        if (wires.name(link).starts_with("nic")) continue;
        if (wires.name(link).starts_with("nvlink")) continue;
        fullest = std::max(fullest, of * (rate / wires.capacity(link)));
      }
      ASSERT_NEAR(slowdown(c, group, p) / fullest, 1, 1e-9)
          << "nodes " << c.nodes << " leaf " << c.fabric.leaf_nodes << " size " << size << " stride " << stride
          << " gpus " << c.node.gpus << " pattern " << static_cast<int>(p);
      narrow += fullest > 1;
    }
  }
  EXPECT_GT(narrow, 300);
}

}  // namespace
