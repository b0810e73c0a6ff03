// tests/sim/network/flow_test.cpp -- contention worked out by hand, and the closed form where nothing contends.
// SPDX-License-Identifier: Apache-2.0
#include "sim/network/flow.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "core/plan/group_shape.h"
#include "sim/network/closed_form.h"
#include "sim/network/network.h"
#include "sim/network/simgrid.h"
#include "tests/sim/network/max_min.h"
#include "tests/support/toy.h"

namespace {

using base::GBps;
using plan::Collective;
using plan::CollectiveKind;
using sim::Pattern;
using Kind = spec::Fabric::Kind;

class Flow : public testing::Test {
 protected:
  void SetUp() override {
    if (!sim::has_simgrid()) GTEST_SKIP() << "built without SimGrid";
  }
  /// How many times longer a ring takes than on the same cards below one switch.
  static double slowdown(spec::Cluster c, int stride, int size, Pattern pattern = Pattern::ring) {
    const plan::GroupShape group = plan::group_shape(stride, size, c, c.gpus());
    const double here = sim::FlowPaths(c).between(group, group.per_domain, pattern).si();
    c.fabric.kind = Kind::single_switch;
    return sim::FlowPaths(c).between(group, group.per_domain, pattern).si() / here;
  }
};

/// 64 nodes of 8 GPUs with a card of 10 GB/s each, leaves of 8 nodes.
spec::Cluster tree(double oversubscription, Kind kind = Kind::fat_tree) {
  spec::Cluster c = toy::cluster(512);
  c.fabric.kind = kind;
  c.fabric.leaf_nodes = 8;
  c.fabric.oversubscription = oversubscription;
  return c;
}

TEST_F(Flow, RingsWhoseEveryHopCrossesTheSpinePayTheOversubscription) {
  // Data parallel of 8 over every 8th node: stride 64 GPUs, one leaf on at each hop. 64 cards send into uplinks of
  // 64 / o cards: o times as long.
  for (const Kind kind : {Kind::fat_tree, Kind::rail_optimized}) {
    for (const double o : {1, 2, 4, 16}) EXPECT_NEAR(slowdown(tree(o, kind), 64, 8), o, 1e-6 * o) << o;
  }
}

TEST_F(Flow, RingsInLeafOrderCrossWithOneNodeOfEight) {
  // Stride 8 over all 64 nodes: one node of a leaf sends out, 8 cards into 64 / o: nothing to 8:1, twice at 16:1.
  for (const double o : {1, 2, 4, 8}) EXPECT_NEAR(slowdown(tree(o), 8, 64), 1, 1e-6) << o;
  EXPECT_NEAR(slowdown(tree(16), 8, 64), 2, 1e-6);
}

TEST_F(Flow, TransfersBetweenStagesPayWhenTheyCrossTheSpine) {
  // Stages 64 GPUs apart: all cards of a leaf send up at once. 8 apart: one node in eight does.
  const auto rate = [](int stride, double o) {
    const spec::Cluster c = tree(o);
    const plan::Transfer hop = plan::stage_hop(stride, c, c.gpus());
    return sim::FlowPaths(c).between({2, 1, 2, hop.sharing, hop.layout}, 1, Pattern::send).si() / 1e9;
  };
  EXPECT_NEAR(rate(64, 1), 10, 1e-5);
  EXPECT_NEAR(rate(64, 4), 2.5, 1e-5);
  EXPECT_NEAR(rate(8, 4), 10, 1e-5);
}

TEST_F(Flow, AllToAllPaysForTheShareThatLeavesTheLeaf) {
  // Two leaves of 8 nodes: of 15 other nodes 8 lie beyond the leaf. At 4:1 an uplink carries 8 x 8 nodes' shares of
  // 8/15 at a quarter of their cards: 32/15 times as long.
  EXPECT_NEAR(slowdown(tree(4), 1, 128, Pattern::all_to_all), 32.0 / 15, 1e-5);
}

TEST_F(Flow, ASecondTierAddsItsOwnOversubscription) {
  // Pods of 16 nodes at 2:1 over leaves at 2:1. Hops of 8 nodes change the pod every second time: 4 pods of two leaves,
  // half of a pod's 128 cards send out over 128 / 4: twice as long, as on the leaf's uplinks (64 over 32). Hops of 16
  // nodes: all of them, four times.
  spec::Cluster c = tree(2);
  c.fabric.upper_tiers = {{16, 2}};
  EXPECT_NEAR(slowdown(c, 64, 8), 2, 1e-5);
  EXPECT_NEAR(slowdown(c, 128, 4), 4, 1e-5);
}

TEST_F(Flow, MinimalRoutingOfADragonflyFillsTheDirectLinkAlone) {
  // Four groups of 16 nodes. Hops of 16 nodes go to the next group, by a third of the uplinks.
  spec::Cluster c = tree(1, Kind::dragonfly);
  c.fabric.upper_tiers = {{16, 1}};
  c.fabric.groups = 4;
  EXPECT_NEAR(slowdown(c, 128, 4), 1, 1e-5);
  c.fabric.routing = spec::Fabric::Routing::minimal;
  EXPECT_NEAR(slowdown(c, 128, 4), 3, 1e-5);
}

TEST_F(Flow, RingsAlongATorusUseEachLinkOnce) {
  // 8 x 8 nodes in order: each hop is a link of its own, also round the ends; eight cards over one link: 80 / 40 GB/s.
  // Every second node: two hops a step, each link carries two nodes: 4.
  spec::Cluster c = toy::cluster(512);
  c.fabric.kind = Kind::torus;
  c.fabric.shape = {8, 8};
  c.fabric.link = GBps(40);
  EXPECT_NEAR(slowdown(c, 8, 64), 2, 1e-5);
  EXPECT_NEAR(slowdown(c, 16, 4), 4, 1e-5);
}

TEST_F(Flow, GroupsOfANodeShareTheHostsMemory) {
  // Two rings of 4 through host memory, each byte written and read: eight hops at once have 100 / 16, counted and run.
  spec::Cluster c = toy::cluster(8);
  c.node.nvlink = {};
  c.node.pcie = {GBps(20), false, {}};
  const plan::GroupShape half = plan::group_shape(1, 4, c, 8), whole = plan::group_shape(1, 8, c, 8);
  EXPECT_NEAR(sim::Paths(c).inside(half, 4, false).si(), 6.25e9, 1);
  EXPECT_NEAR(sim::FlowPaths(c).inside(half, 4, false).si(), 6.25e9, 1e4);
  EXPECT_NEAR(sim::FlowPaths(c).inside(whole, 8, false).si(), sim::Paths(c).inside(whole, 8, false).si(), 1e4);
}

TEST_F(Flow, RatesOfRandomLayoutsAgreeWithTheOracle) {
  // Unfolded, by progressive filling, on small clusters of every kind, odd strides and cut ends included.
  std::mt19937 random(11);
  const auto pick = [&](std::initializer_list<int> of) { return *(of.begin() + random() % of.size()); };
  int looked_at = 0;
  for (int i = 0; i < 400; ++i) {
    spec::Cluster c = tree(pick({1, 2, 3}), static_cast<Kind>(random() % 6));
    c.nodes = 16;
    c.fabric.leaf_nodes = pick({2, 4});
    c.fabric.upper_tiers = {{8, 2}};
    c.fabric.routing = pick({0, 1}) == 0 ? spec::Fabric::Routing::spray : spec::Fabric::Routing::minimal;
    c.fabric.shape = {4, 2, 2};
    c.fabric.link = GBps(30);
    c.node.gpus = c.node.nvlink.domain = pick({2, 4});
    c.node.nic.count = pick({1, 2, c.node.gpus});
    const int size = pick({2, 3, 4, 8}), stride = pick({1, 2, 3, 4, 8});
    if (stride * (size - 1) >= c.gpus()) continue;
    const plan::GroupShape group = plan::group_shape(stride, size, c, c.gpus());
    if (group.domains < 2) continue;
    for (const Pattern p : {Pattern::ring, Pattern::tree, Pattern::all_to_all, Pattern::shift}) {
      const sim::Traffic traffic = sim::traffic_between(p, group, c);
      const sim::Wires wires(c);
      const sim::Fluid fluid = sim::fluid_of(traffic, wires, GBps(10));
      ASSERT_EQ(sim::last_end_by_bounds(traffic, wires, GBps(10)), sim::last_end_by_bounds(fluid));
      const double end = oracle::last_end(fluid);
      ASSERT_NEAR(sim::FlowPaths(c).between(group, group.per_domain, p).si() * end / 1e10, 1, 1e-5)
          << "kind " << static_cast<int>(c.fabric.kind) << " size " << size << " stride " << stride;
      ++looked_at;
    }
  }
  EXPECT_GT(looked_at, 400);
}

TEST_F(Flow, IsTheClosedFormWhereNothingContends) {
  // Full bisection, groups that fill the cluster evenly: within 1 %, for every collective, fabric and card count.
  std::mt19937 random(13);
  const auto pick = [&](std::initializer_list<int> of) { return *(of.begin() + random() % of.size()); };
  int crossing = 0;
  for (int i = 0; i < 300; ++i) {
    spec::Cluster c = tree(1, static_cast<Kind>(random() % 5));
    c.nodes = pick({8, 16, 64});
    c.fabric.leaf_nodes = pick({0, 4, 8});
    if (c.fabric.leaf_nodes > 0) c.fabric.upper_tiers = {{4 * c.fabric.leaf_nodes, 1}};
    c.node.nic.count = pick({1, 4, 8, 16});
    c.fabric.calibration.tree = c.fabric.calibration.all_reduce;
    const int size = pick({2, 4, 8, 16, 32}), stride = pick({1, 2, 4, 8, 16, 64});
    if (c.gpus() % (stride * size) != 0) continue;
    const plan::GroupShape group = plan::group_shape(stride, size, c, c.gpus());
    for (const CollectiveKind kind :
         {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::all_to_all, CollectiveKind::shift}) {
      if (kind == CollectiveKind::shift && c.node.nic.count < 8) continue;  // the senders' neighbours share their cards
      const Collective work{kind, 1 << 28, group};
      const double flat = sim::price(work, c).time.si(), flow = sim::price(work, sim::FlowPaths(c)).time.si();
      ASSERT_NEAR(flow / flat, 1, 0.01) << "kind " << static_cast<int>(c.fabric.kind) << " nodes " << c.nodes
                                        << " size " << size << " stride " << stride << " cards " << c.node.nic.count
                                        << " collective " << static_cast<int>(kind);
    }
    crossing += group.domains > 1;
  }
  EXPECT_GT(crossing, 100);
}

TEST_F(Flow, FoldsLargeClustersToAHandfulOfFlows) {
  // 2,048 nodes, 16 stages of 128-way data parallel beside tensor parallel of 8: every rail and stage is alike.
  spec::Cluster c = toy::cluster(16384);
  c.fabric.kind = Kind::rail_optimized;
  c.fabric.leaf_nodes = 32;
  c.fabric.oversubscription = 2;
  const plan::GroupShape group = plan::group_shape(8, 128, c, c.gpus());
  const sim::Traffic traffic = sim::traffic_between(Pattern::ring, group, c);
  EXPECT_LE(sim::folded(sim::fluid_of(traffic, sim::Wires(c), GBps(10))).flows(), 10u);
}

}  // namespace
