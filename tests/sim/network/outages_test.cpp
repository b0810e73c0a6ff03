// tests/sim/network/outages_test.cpp -- slow and lost links, hashed flows and scattered nodes, each worked out by hand
// and in both fidelities where both know it. SPDX-License-Identifier: Apache-2.0
#include "core/spec/outages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <random>

#include "core/plan/group_shape.h"
#include "sim/network/closed_form.h"
#include "sim/network/flow.h"
#include "sim/network/simgrid.h"
#include "tests/support/toy.h"

namespace {

using plan::Collective;
using plan::CollectiveKind;
using sim::Pattern;
using spec::Outages;
using Kind = spec::Fabric::Kind;

constexpr double kDead = std::numeric_limits<double>::infinity();

spec::LinkFault node_link(int node, double factor, int card = -1) {
  return {.node = node, .factor = factor, .card = card};
}
spec::LinkFault leaf_link(int leaf, double factor, int uplinks = 0, int rail = -1) {
  return {.factor = factor, .tier = 0, .at = leaf, .rail = rail, .count = uplinks};
}

/// 16 nodes of 8 GPUs with a card of 10 GB/s each, leaves of 8 nodes.
spec::Cluster two_leaves(double oversubscription, Kind kind = Kind::fat_tree) {
  spec::Cluster c = toy::cluster(128);
  c.fabric.kind = kind;
  c.fabric.leaf_nodes = 8;
  c.fabric.oversubscription = oversubscription;
  return c;
}

/// How many times longer the axis takes than with all links sound.
double closed(const spec::Cluster& c, const Outages& o, int stride, int size, Pattern pattern = Pattern::ring) {
  const plan::GroupShape group = plan::group_shape(stride, size, c, c.gpus());
  return sim::Paths(c).between(group, group.per_domain, pattern) /
         sim::Paths(c, o).between(group, group.per_domain, pattern);
}
double flow(const spec::Cluster& c, const Outages& o, int stride, int size, Pattern pattern = Pattern::ring) {
  const plan::GroupShape group = plan::group_shape(stride, size, c, c.gpus());
  return sim::FlowPaths(c).between(group, group.per_domain, pattern) /
         sim::FlowPaths(c, o).between(group, group.per_domain, pattern);
}

TEST(Outages, ARingOfNodesWithOneCardAtHalfItsRateTakesExactlyTwiceItsBytesTime) {
  // One rank a node, 16 nodes, all_reduce of 160 MB: each card sends 2 x 15/16 x 160 MB = 300 MB; at 10 GB/s 30 ms, at
  // 5 GB/s 60 ms. No latency, no ramp.
  spec::Cluster c = toy::cluster(128);
  c.node.gpus = c.node.nvlink.domain = c.node.nic.count = 1;
  c.nodes = 16;
  const plan::GroupShape group = plan::group_shape(1, 16, c, 16);
  const Collective sum{CollectiveKind::all_reduce, 160'000'000, group};
  const Outages slow{.slow_links = {node_link(5, 2)}};
  EXPECT_NEAR(sim::price(sum, c).time.si(), 0.030, 1e-12);
  EXPECT_NEAR(sim::price(sum, sim::Paths(c, slow)).time.si(), 0.060, 1e-12);
  if (!sim::has_simgrid()) return;
  EXPECT_NEAR(sim::price(sum, sim::FlowPaths(c, slow)).time.si(), 0.060, 1e-6);
}

TEST(Outages, LatencyStaysWhereItIs) {
  spec::Cluster c = toy::cluster(128);
  c.fabric.calibration.all_reduce.latency = base::us(100);
  const plan::GroupShape group = plan::group_shape(8, 16, c, 128);
  const Collective sum{CollectiveKind::all_reduce, 160'000'000, group};
  const sim::Paths slow(c, {.slow_links = {node_link(5, 2)}});
  EXPECT_NEAR(sim::price(sum, c).time.si(), 0.0301, 1e-9);
  EXPECT_NEAR(sim::price(sum, slow).time.si(), 0.0601, 1e-9);
}

TEST(Outages, TwoGpusShareACardWhenOneIsLost) {
  // Rings of one rank a node, eight side by side: the two that meet on a card have half of it. Transfers to the next
  // node likewise.
  const Outages lost{.lost_nics = {{3, 1}}};
  const spec::Cluster c = toy::cluster(128);
  EXPECT_NEAR(closed(c, lost, 8, 16), 2, 1e-12);
  EXPECT_NEAR(closed(c, lost, 8, 16, Pattern::shift), 2, 1e-12);
  if (!sim::has_simgrid()) return;
  EXPECT_NEAR(flow(c, lost, 8, 16), 2, 1e-5);
  EXPECT_NEAR(flow(c, lost, 8, 16, Pattern::shift), 2, 1e-5);
}

TEST(Outages, ARingOfWholeNodesLeavesByTheCardsThatAreLeft) {
  // 7 of 8 cards: 8/7 as long; 5 of 8: 8/5. Half of the node's ranks in each ring, one card lost: 4 ranks, 3 cards.
  const spec::Cluster c = toy::cluster(128);
  const auto lost = [](int cards) { return Outages{.lost_nics = {{3, cards}}}; };
  EXPECT_NEAR(closed(c, lost(1), 1, 128), 8.0 / 7, 1e-12);
  EXPECT_NEAR(closed(c, lost(3), 1, 128), 8.0 / 5, 1e-12);
  EXPECT_NEAR(closed(c, lost(1), 2, 64), 4.0 / 3, 1e-12);
  if (!sim::has_simgrid()) return;
  EXPECT_NEAR(flow(c, lost(1), 1, 128), 8.0 / 7, 1e-5);
  EXPECT_NEAR(flow(c, lost(3), 1, 128), 8.0 / 5, 1e-5);
  EXPECT_NEAR(flow(c, lost(1), 2, 64), 4.0 / 3, 1e-5);
}

TEST(Outages, EachOfSeveralRingsLeavesByTheCardsThatItHasLeft) {
  // Four of eight cards lost. Two rings side by side have two of their four each: twice as long. Four rings have one of
  // two. Of six cards lost, two of the four rings have none and their four GPUs stand in at the two cards left, which
  // carry two GPUs' own, too: 4.
  const spec::Cluster c = toy::cluster(128);
  EXPECT_NEAR(closed(c, {.lost_nics = {{3, 4}}}, 2, 64), 2, 1e-12);
  EXPECT_NEAR(closed(c, {.lost_nics = {{3, 4}}}, 4, 32), 2, 1e-12);
  EXPECT_NEAR(closed(c, {.lost_nics = {{3, 6}}}, 4, 32), 4, 1e-12);
  EXPECT_NEAR(closed(c, {.lost_nics = {{3, 2}}}, 2, 64), 4.0 / 3, 1e-12);
  EXPECT_NEAR(closed(c, {.dead_links = {node_link(3, kDead, 0), node_link(3, kDead, 2)}}, 2, 64), 2, 1e-12);
}

TEST(Outages, LostCardsAreStoodInForByAsManyNeighboursAsThereAre) {
  // Of 8 cards 4 are lost: each other one has two users. 5: three left for 8, the fullest has ceil(8/3) = 3. 7: 8.
  const spec::Cluster c = toy::cluster(128);
  const auto users = [&](int lost) {
    const sim::Cards cards(c, {.lost_nics = {{0, lost}}});
    std::vector<int> of(8, 0);
    for (int gpu = 0; gpu < 8; ++gpu) ++of[static_cast<std::size_t>(cards.port_of(gpu))];
    return *std::max_element(of.begin(), of.end());
  };
  EXPECT_EQ(users(1), 2);
  EXPECT_EQ(users(4), 2);
  EXPECT_EQ(users(5), 3);
  EXPECT_EQ(users(7), 8);
  for (const int lost : {1, 4, 5, 7}) EXPECT_EQ(closed(c, {.lost_nics = {{0, lost}}}, 8, 16), users(lost)) << lost;
}

TEST(Outages, ALostCardIsADeadOne) {
  const spec::Cluster c = toy::cluster(128);
  const Outages dead{.dead_links = {node_link(3, kDead, 5)}};
  EXPECT_NEAR(closed(c, dead, 8, 16), 2, 1e-12);
  EXPECT_EQ(sim::Cards(c, dead).port_of(3 * 8 + 5), 4);  // of its two neighbours the first
  EXPECT_EQ(sim::Cards(c, dead).port_of(4 * 8 + 5), 5);
}

TEST(Outages, WithoutItsCardAGpuCrossesRails) {
  // GPU 5 of node 3 sends by card 4: to rail 5 of a node below the same leaf by way of the spine.
  spec::Cluster c = two_leaves(1, Kind::rail_optimized);
  const sim::Wires wires(c, {.dead_links = {node_link(3, kDead, 5)}});
  std::vector<sim::Wires::Link> links;
  wires.route(3 * 8 + 5, 4 * 8 + 5, links);
  std::string way;
  for (const sim::Wires::Link link : links) way += wires.name(link) + "; ";
  EXPECT_EQ(way, "nic up 28; leaf up 4; leaf down 5; nic down 37; ");
}

TEST(Outages, OnlyAxesThatLeaveTheNodeAreSlowed) {
  const spec::Cluster c = toy::cluster(128);
  const plan::GroupShape tp = plan::group_shape(1, 8, c, 128);
  const Collective sum{CollectiveKind::all_reduce, 1 << 28, tp};
  const sim::Paths slow(c, {.slow_links = {node_link(0, 100)}});
  EXPECT_EQ(sim::price(sum, slow).time, sim::price(sum, c).time);
}

class OutagesFlow : public testing::Test {
 protected:
  void SetUp() override {
    if (!sim::has_simgrid()) GTEST_SKIP() << "built without SimGrid";
  }
};

TEST_F(OutagesFlow, ALeafWithSlowUplinksSlowsWhatCrossesIt) {
  // Stage by stage 64 GPUs on: all 64 cards of a leaf cross at once over 64 uplinks. At a third of their rate three
  // times as long; two of 64 dead: 64/62. A ring in leaf order crosses with 8 of 64: there is room for 8.
  const spec::Cluster c = two_leaves(1);
  EXPECT_NEAR(flow(c, {.slow_links = {leaf_link(1, 3)}}, 64, 2), 3, 1e-4);
  EXPECT_NEAR(flow(c, {.dead_links = {leaf_link(1, kDead, 2)}}, 64, 2), 64.0 / 62, 1e-5);
  EXPECT_NEAR(flow(c, {.slow_links = {leaf_link(1, 8)}}, 8, 16), 1, 1e-5);
  EXPECT_NEAR(flow(c, {.slow_links = {leaf_link(1, 16)}}, 8, 16), 2, 1e-4);
}

TEST_F(OutagesFlow, ALeafOfARailCarriesThatRailAlone) {
  // 8 cards of rail 2 over 8 uplinks, four of them dead: twice as long.
  const spec::Cluster c = two_leaves(1, Kind::rail_optimized);
  EXPECT_NEAR(flow(c, {.dead_links = {leaf_link(0, kDead, 4, 2)}}, 64, 2), 2, 1e-5);
}

TEST_F(OutagesFlow, ADragonflysDirectLinkIsTheOnlyOne) {
  // Four groups of 16 nodes, hops of one group: all of a group's bytes take the link to the next one. At half its rate:
  // twice as long. The link between 0 and 2 is not on the way.
  spec::Cluster c = toy::cluster(512);
  c.fabric.kind = Kind::dragonfly;
  c.fabric.leaf_nodes = 8;
  c.fabric.upper_tiers = {{16, 1}};
  c.fabric.routing = spec::Fabric::Routing::minimal;
  EXPECT_NEAR(flow(c, {.slow_links = {{.factor = 2, .from = 0, .to = 1}}}, 128, 4), 2, 1e-4);
  EXPECT_NEAR(flow(c, {.slow_links = {{.factor = 2, .from = 0, .to = 2}}}, 128, 4), 1, 1e-5);
}

/// Flows on the fullest uplink of either leaf, by the routes.
int fullest(const spec::Cluster& c, const Outages& o, int stride) {
  const sim::Wires wires(c, o);
  std::map<std::string, int> load;
  for (int gpu = 0; gpu < c.gpus(); ++gpu) {
    std::vector<sim::Wires::Link> links;
    wires.route(gpu, (gpu + stride) % c.gpus(), links);
    for (const sim::Wires::Link link : links) {
      if (wires.name(link).starts_with("leaf up")) ++load[wires.name(link)];
    }
  }
  int most = 0;
  for (const auto& [name, flows] : load) most = std::max(most, flows);
  return most;
}

TEST_F(OutagesFlow, HashedFlowsWaitForTheFullestUplink) {
  // k = 64 flows leave each leaf, hashed on m = 64 / o uplinks; sprayed each uplink carries k / m, hashed the fullest
  // carries c: c / (k / m) times as long.
  for (const double o : {1, 2, 4}) {
    for (const std::uint64_t seed : {1, 2, 3}) {
      spec::Cluster c = two_leaves(o);
      const plan::GroupShape group = plan::group_shape(64, 2, c, 128);
      const double sprayed = sim::FlowPaths(c).between(group, 1, Pattern::ring).si();
      c.fabric.routing = spec::Fabric::Routing::ecmp;
      const Outages drawn{.seed = seed};
      const int most = fullest(c, drawn, 64);
      EXPECT_GT(most, o) << "64 flows on as many uplinks without a collision";
      const double hashed = sim::FlowPaths(c, drawn).between(group, 1, Pattern::ring).si();
      EXPECT_NEAR(sprayed / hashed, most / o, 1e-4 * most) << "seed " << seed << " at " << o << ":1";
    }
  }
}

TEST_F(OutagesFlow, BoundsThatMeetAreWhereTheFlowsEnd) {
  // Equal volumes, hashed and scattered: the answer without running the flows, and with.
  std::mt19937 random(17);
  for (int i = 0; i < 30; ++i) {
    spec::Cluster c = two_leaves(4);
    c.fabric.routing = spec::Fabric::Routing::ecmp;
    for (int node = 0; node < 16; ++node) c.hosts.push_back(node);
    std::shuffle(c.hosts.begin(), c.hosts.end(), random);
    const plan::GroupShape group = plan::group_shape(8, 16, c, 128);
    const Outages o{.seed = random(), .slow_links = {leaf_link(0, 3, 2)}};
    const sim::Traffic traffic = sim::traffic_between(Pattern::ring, group, c, sim::Cards(c, o), true);
    const sim::Wires wires(c, o);
    const sim::Fluid fluid = sim::fluid_of(traffic, wires, base::GBps(10));
    const std::optional<double> bounds = sim::last_end_by_bounds(fluid);
    ASSERT_TRUE(bounds.has_value());
    ASSERT_EQ(bounds, sim::last_end_by_bounds(traffic, wires, base::GBps(10)));
    ASSERT_NEAR(*bounds / sim::last_end(sim::folded(fluid)), 1, 1e-5);
  }
}

TEST_F(OutagesFlow, HashesAreDrawsOfBallsIntoBins) {
  // 64 flows of a leaf on 64 uplinks are Poisson of mean 1: P(5 or more on one) = 0.00366. None of the 128 uplinks of
  // both leaves has 5 in exp(-128 x 0.00366) = 63 % of the draws.
  spec::Cluster c = two_leaves(1);
  c.fabric.routing = spec::Fabric::Routing::ecmp;
  int below_five = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) below_five += fullest(c, {.seed = seed}, 64) < 5;
  EXPECT_NEAR(below_five / 400.0, 0.63, 0.075);  // three standard deviations
}

TEST_F(OutagesFlow, HashesAvoidDeadUplinks) {
  spec::Cluster c = two_leaves(16);  // 4 uplinks a leaf
  c.fabric.routing = spec::Fabric::Routing::ecmp;
  EXPECT_EQ(fullest(c, {.dead_links = {leaf_link(1, kDead, 3)}}, 64), 64);  // both ways by the last one
}

TEST_F(OutagesFlow, AScatteredRingCrossesAtEveryHop) {
  // Two leaves of 8 nodes at 4:1. In order one node of a leaf crosses, 8 cards over 16 uplinks: full rate. Nodes that
  // take turns between the leaves cross at every hop, 64 cards over 16 uplinks: four times as long.
  spec::Cluster c = two_leaves(4);
  const plan::GroupShape group = plan::group_shape(8, 16, c, 128);
  const double ordered = sim::FlowPaths(c).between(group, 1, Pattern::ring).si();
  for (int i = 0; i < 8; ++i) c.hosts.insert(c.hosts.end(), {i, 8 + i});
  EXPECT_NEAR(ordered / 10e9, 1, 1e-5);
  EXPECT_NEAR(ordered / sim::FlowPaths(c).between(group, 1, Pattern::ring).si(), 4, 1e-4);
}

TEST_F(OutagesFlow, NodesMayStandAnywhereInALargerFabric) {
  // Four nodes on four leaves of their own: every hop crosses, 8 cards over 2 uplinks at 32:1... 8 x 8 / 32.
  spec::Cluster c = two_leaves(32);
  c.nodes = 4;
  c.fabric.nodes = 32;
  const plan::GroupShape group = plan::group_shape(8, 4, c, 32);
  const double together = sim::FlowPaths(c).between(group, 1, Pattern::ring).si();
  c.hosts = {0, 8, 16, 24};
  EXPECT_NEAR(together / sim::FlowPaths(c).between(group, 1, Pattern::ring).si(), 4, 1e-4);
  c.hosts = {24, 25, 26, 27};
  EXPECT_NEAR(together / sim::FlowPaths(c).between(group, 1, Pattern::ring).si(), 1, 1e-5);
}

TEST_F(OutagesFlow, BothFidelitiesAgreeOnCards) {
  // Full bisection, groups that fill the cluster evenly: any card slow or lost on any node.
  std::mt19937 random(7);
  for (int i = 0; i < 200; ++i) {
    const spec::Cluster c = toy::cluster(128);
    const int node = static_cast<int>(random() % 16), stride = 1 << random() % 4;
    Outages o;
    if (random() % 2 == 0) {
      o.slow_links = {node_link(node, 1 + static_cast<double>(random() % 40) / 10)};
    } else {
      o.lost_nics = {{node, 1 + static_cast<int>(random() % 7)}};
    }
    const double by_flow = flow(c, o, stride, 128 / stride), by_formula = closed(c, o, stride, 128 / stride);
    ASSERT_NEAR(by_flow, by_formula, 1e-4) << "node " << node << " stride " << stride;
  }
}

TEST_F(OutagesFlow, AGpuWithoutItsCardSendsByItsNeighboursOnRails) {
  // Two nodes of 8, a stage each: rank r sends to r + 8. Whichever card is lost, two ranks share one: twice as long. At
  // a third of its rate, three times.
  spec::Cluster c = toy::cluster(16);
  c.fabric.kind = Kind::rail_optimized;
  c.fabric.leaf_nodes = 8;
  for (int node = 0; node < 2; ++node) {
    for (int card = 0; card < 8; ++card) {
      const Outages o{.dead_links = {node_link(node, kDead, card)}};
      const auto time = [&](const sim::FlowPaths& paths) {
        const plan::Transfer hop = plan::stage_hop(8, 2, c, 16);
        plan::Transfer sent = hop;
        sent.bytes = 100'000'000;
        return sim::price(sent, paths).time.si();
      };
      const Outages slow{.slow_links = {node_link(node, 3, card)}};
      EXPECT_NEAR(time(sim::FlowPaths(c, slow)) / time(sim::FlowPaths(c)), 3, 1e-5) << node << ' ' << card;
      EXPECT_NEAR(time(sim::FlowPaths(c, o)) / time(sim::FlowPaths(c)), 2, 1e-5) << node << ' ' << card;
    }
  }
}

TEST_F(OutagesFlow, NothingThatIsLostMakesAnyRateHigher) {
  std::mt19937 random(5);
  const auto pick = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
  for (int i = 0; i < 300; ++i) {
    spec::Cluster c = two_leaves(1 << pick(3), pick(2) == 0 ? Kind::fat_tree : Kind::rail_optimized);
    if (pick(2) == 0) c.fabric.routing = spec::Fabric::Routing::ecmp;
    Outages o;
    if (pick(2) == 0) o.lost_nics = {{pick(16), 1 + pick(7)}};
    if (pick(2) == 0) o.slow_links = {node_link(pick(16), 1 + pick(4), pick(8)), leaf_link(pick(2), 1 + pick(9), 1)};
    if (pick(2) == 0 && spec::uplinks(c, 0) > 1) o.dead_links = {leaf_link(pick(2), kDead, 1)};
    const int stride = 1 << pick(7), size = 1 << (1 + pick(4));
    if (stride * size > 128) continue;
    const plan::GroupShape group = plan::group_shape(stride, size, c, 128);
    if (group.domains < 2) continue;
    for (const Pattern p : {Pattern::ring, Pattern::tree, Pattern::all_to_all, Pattern::shift}) {
      const bool moved = c.fabric.routing == spec::Fabric::Routing::ecmp && !o.dead_links.empty();
      if (moved) continue;  // another draw of the hashes
      ASSERT_GE(flow(c, o, stride, size, p), 1 - 1e-6) << "stride " << stride << " size " << size;
      ASSERT_GE(closed(c, o, stride, size, p), 1 - 1e-12);
    }
  }
}

}  // namespace
