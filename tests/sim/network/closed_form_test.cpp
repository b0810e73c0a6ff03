// tests/sim/network/closed_form_test.cpp -- toy cluster (NVLink 100 GB/s, 8 cards of 10 GB/s, perfect curves): every
// number can be done in the head. Laws by random cases with random curves.
// SPDX-License-Identifier: Apache-2.0
#include "sim/network/closed_form.h"

#include <gtest/gtest.h>

#include <random>

namespace {

using base::GBps;
using base::us;
using plan::Collective;
using plan::CollectiveKind;
using plan::GroupShape;

constexpr std::int64_t kGB = 1'000'000'000;

spec::PathCurve perfect() {
  spec::PathCurve c;
  c.efficiency = 1;
  return c;
}

spec::NetworkCalibration all(const spec::PathCurve& c) {
  spec::NetworkCalibration n;
  n.all_reduce = n.all_gather = n.reduce_scatter = n.all_to_all = n.send = c;
  return n;
}

spec::Cluster toy() {
  spec::Cluster c;
  c.node.gpus = 8;
  c.node.nvlink = {GBps(100), 8, spec::Switch::nvswitch, false};
  c.node.nic = {GBps(10), 8, spec::NicKind::infiniband};
  c.node.pcie = {GBps(20), true, {}};
  c.node.links = all(perfect());
  c.fabric.calibration = all(perfect());
  c.nodes = 64;
  return c;
}

double seconds(CollectiveKind kind, std::int64_t bytes, GroupShape g, const spec::Cluster& c = toy()) {
  return sim::price(Collective{kind, bytes, g}, c).time.si();
}

TEST(ClosedForm, ARingInsideADomainMovesItsBytesAtLinkRate) {
  // 8 GB among 8: each rank sends 7 GB (gather, scatter, all to all), 14 GB (reduce), 8 GB (broadcast) at 100 GB/s.
  const GroupShape node{8, 8, 1, 1};
  EXPECT_DOUBLE_EQ(seconds(CollectiveKind::all_gather, 8 * kGB, node), 0.07);
  EXPECT_DOUBLE_EQ(seconds(CollectiveKind::reduce_scatter, 8 * kGB, node), 0.07);
  EXPECT_DOUBLE_EQ(seconds(CollectiveKind::all_to_all, 8 * kGB, node), 0.07);
  EXPECT_DOUBLE_EQ(seconds(CollectiveKind::all_reduce, 8 * kGB, node), 0.14);
  EXPECT_DOUBLE_EQ(seconds(CollectiveKind::broadcast, 8 * kGB, node), 0.08);
}

TEST(ClosedForm, StepsOfTheRingCostHops) {
  // 8 ranks: 14 steps of 2 us for all_reduce, 7 for all_gather, after a start of 5 us; 80 bytes weigh nothing.
  spec::Cluster c = toy();
  c.node.links.all_reduce.latency = c.node.links.all_gather.latency = us(5);
  c.node.links.all_reduce.hop = c.node.links.all_gather.hop = us(2);
  EXPECT_NEAR(seconds(CollectiveKind::all_reduce, 80, {8, 8, 1, 1}, c), 33e-6, 1e-8);
  EXPECT_NEAR(seconds(CollectiveKind::all_gather, 80, {8, 8, 1, 1}, c), 19e-6, 1e-8);
}

TEST(ClosedForm, StepsBeyondThoseOfEightRanksTakeTheLongHop) {
  // 16 ranks of one domain take 15 steps, 7 of 2 us and 8 of 0.5 us, for an all_reduce twice; in two domains of 8 there
  // are 14 inside and one of 3 us between.
  spec::Cluster c = toy();
  for (spec::PathCurve* curve : {&c.node.links.all_reduce, &c.node.links.all_gather}) {
    curve->latency = us(5), curve->hop = us(2), curve->long_hop = us(0.5);
  }
  c.fabric.calibration.all_gather.latency = us(4);
  c.fabric.calibration.all_gather.hop = us(3);
  EXPECT_NEAR(seconds(CollectiveKind::all_gather, 160, {16, 8, 2, 1}, c), (4 + 7 * 2 + 7 * 0.5 + 3) * 1e-6, 1e-7);
  EXPECT_NEAR(seconds(CollectiveKind::all_gather, 80, {8, 8, 1, 1}, c), (5 + 7 * 2) * 1e-6, 1e-8);
  c.node.nvlink.domain = 16;
  EXPECT_NEAR(seconds(CollectiveKind::all_gather, 160, {16, 16, 1, 1}, c), (5 + 7 * 2 + 8 * 0.5) * 1e-6, 1e-8);
  EXPECT_NEAR(seconds(CollectiveKind::all_reduce, 160, {16, 16, 1, 1}, c), (5 + 2 * (7 * 2 + 8 * 0.5)) * 1e-6, 1e-8);
}

TEST(ClosedForm, HalfOfTheRateIsReachedAtTheRamp) {
  // 7 MB sent, ramp 7 MB: twice the 70 us of the full rate.
  spec::Cluster c = toy();
  c.node.links.all_gather.ramp = base::Bytes(7e6);
  EXPECT_NEAR(seconds(CollectiveKind::all_gather, 8'000'000, {8, 8, 1, 1}, c), 140e-6, 1e-12);
}

TEST(ClosedForm, OwnBytesCostTheirLocalShare) {
  // Two ranks, 2 GB: 1 GB crosses, 1 GB stays at half the cost: 1.5 GB at 100 GB/s.
  spec::Cluster c = toy();
  c.node.links.all_gather.local = 0.5;
  EXPECT_NEAR(seconds(CollectiveKind::all_gather, 2 * kGB, {2, 2, 1, 1}, c), 0.015, 1e-12);
}

TEST(ClosedForm, TheLowLatencyProtocolWinsSmallAndLosesLarge) {
  // Simple 20 us at 100 GB/s, low latency 5 us at 25 GB/s: 500 kB sent (1 MB among two) take 20 + 5 and 5 + 20 us.
  spec::Cluster c = toy();
  c.node.links.all_gather.latency = us(20);
  c.node.links.all_gather.low_latency = {0.25, us(5), us(0)};
  const GroupShape two{2, 2, 1, 1};
  EXPECT_NEAR(seconds(CollectiveKind::all_gather, 900'000, two, c), 5e-6 + 450e3 / 25e9, 1e-12);
  EXPECT_NEAR(seconds(CollectiveKind::all_gather, 1'000'000, two, c), 25e-6, 1e-12);
  EXPECT_NEAR(seconds(CollectiveKind::all_gather, 1'100'000, two, c), 20e-6 + 550e3 / 100e9, 1e-12);
}

TEST(ClosedForm, AcrossNodesTheRingUsesAllCardsOfItsMembers) {
  // 16 GB among 2 nodes of 8: 30 GB sent through 80 GB/s of cards (NVLink would do 100).
  EXPECT_DOUBLE_EQ(seconds(CollectiveKind::all_reduce, 16 * kGB, {16, 8, 2, 1}), 30.0 / 80);
  // One member a node uses one card, 10 GB/s, whether or not the seven others are busy.
  EXPECT_DOUBLE_EQ(seconds(CollectiveKind::all_reduce, 2 * kGB, {2, 1, 2, 1}), 2.0 / 10);
  EXPECT_DOUBLE_EQ(seconds(CollectiveKind::all_reduce, 2 * kGB, {2, 1, 2, 8}), 2.0 / 10);
}

TEST(ClosedForm, FewerCardsThanGpusAreShared) {
  // 4 cards for 8 GPUs: alone a member has a card (10 GB/s), with all eight busy half of one.
  spec::Cluster c = toy();
  c.node.nic.count = 4;
  EXPECT_DOUBLE_EQ(seconds(CollectiveKind::all_reduce, 2 * kGB, {2, 1, 2, 1}, c), 2.0 / 10);
  EXPECT_DOUBLE_EQ(seconds(CollectiveKind::all_reduce, 2 * kGB, {2, 1, 2, 8}, c), 2.0 / 5);
}

TEST(ClosedForm, TwoNodesGainByATree) {
  // A tree over two nodes carries the buffer once through the cards (ring: 30/16 of it): 16 GB at 80 GB/s, but the
  // chain inside takes 32 GB at NVLink's rate, here 200 GB/s: 0.2 s against 0.375 s of the ring.
  spec::Cluster c = toy();
  c.node.nvlink.bandwidth = GBps(200);
  c.fabric.calibration.tree = perfect();
  const sim::NetworkPrice p = sim::price(Collective{CollectiveKind::all_reduce, 16 * kGB, {16, 8, 2, 1}}, c);
  EXPECT_DOUBLE_EQ(p.time.si(), 0.2);
  EXPECT_EQ(p.algorithm, spec::Algorithm::tree);
}

TEST(ClosedForm, ATreeOfManyNodesHasFewSteps) {
  // 64 nodes, one rank each, 10 us a step: ring 126 steps, tree 2 log2(64) = 12.
  spec::Cluster c = toy();
  c.fabric.calibration.tree = perfect();
  c.fabric.calibration.tree.hop = c.fabric.calibration.all_reduce.hop = us(10);
  EXPECT_NEAR(seconds(CollectiveKind::all_reduce, 8, {64, 1, 64, 8}, c), 120e-6, 1e-7);
  c.fabric.calibration.tree = spec::not_offered();
  EXPECT_NEAR(seconds(CollectiveKind::all_reduce, 8, {64, 1, 64, 8}, c), 1260e-6, 1e-7);
}

TEST(ClosedForm, SwitchesThatReduceCarryTheBufferOnceAndAShare) {
  // 8 GB among 8: 9/8 of the buffer at 100 GB/s = 0.09 s, against 0.14 s of the ring; without multicast the ring.
  spec::Cluster c = toy();
  c.node.links.nvls = perfect();
  const Collective work{CollectiveKind::all_reduce, 8 * kGB, {8, 8, 1, 1}};
  EXPECT_EQ(sim::price(work, c).algorithm, spec::Algorithm::ring);
  c.node.nvlink.multicast = true;
  EXPECT_EQ(sim::price(work, c).algorithm, spec::Algorithm::nvls);
  EXPECT_DOUBLE_EQ(sim::price(work, c).time.si(), 0.09);
}

TEST(ClosedForm, AnAllToAllSplitsBetweenCardsAndNvlink) {
  // 16 GB from each of 16 ranks on 2 nodes: 8 GB to the other node at 10 GB/s a GPU; 7 GB inside at 100 GB/s meanwhile.
  EXPECT_DOUBLE_EQ(seconds(CollectiveKind::all_to_all, 16 * kGB, {16, 8, 2, 1}), 0.8);
}

TEST(ClosedForm, ADeduplicatedAllToAllCrossesWithWhatItSays) {
  // As above, but of 16 GB only 2 GB leave the node, at 10 GB/s; 14 GB (7/8) are handed on inside at 100 GB/s. With 1
  // GB crossing NVLink rules.
  const auto time = [](std::int64_t crossing) {
    return sim::price(Collective{CollectiveKind::all_to_all, 16 * kGB, {16, 8, 2, 1}, crossing}, toy()).time.si();
  };
  EXPECT_DOUBLE_EQ(time(2 * kGB), 0.2);
  EXPECT_DOUBLE_EQ(time(kGB), 0.14);
}

TEST(ClosedForm, ALibrarysExchangeTakesItsCallBesides) {
  // 7 GB at 100 GB/s inside a node; to another 8 GB at 10 GB/s. The call of the slower way counts, once.
  spec::Cluster c = toy();
  c.node.links.experts_call = base::ms(10);
  c.fabric.calibration.experts_call = base::ms(30);
  Collective work{CollectiveKind::all_to_all, 8 * kGB, {8, 8, 1, 1}};
  EXPECT_DOUBLE_EQ(sim::price(work, c).time.si(), 0.07);
  work.by_library = true;
  EXPECT_DOUBLE_EQ(sim::price(work, c).time.si(), 0.08);
  work = {CollectiveKind::all_to_all, 16 * kGB, {16, 8, 2, 1}};
  work.by_library = true;
  EXPECT_DOUBLE_EQ(sim::price(work, c).time.si(), 0.83);
}

TEST(ClosedForm, BandwidthDecaysWithDomains) {
  // decay 0.5: 8 nodes are (8/2)^0.5 = 2 times slower than undecayed.
  spec::Cluster c = toy();
  const double before = seconds(CollectiveKind::all_gather, kGB, {8, 1, 8, 8}, c);
  c.fabric.calibration.all_gather.decay = 0.5;
  EXPECT_NEAR(seconds(CollectiveKind::all_gather, kGB, {8, 1, 8, 8}, c), 2 * before, 1e-12);
}

TEST(ClosedForm, OversubscribedLeavesSlowAllToAllAndSpareRings) {
  // 8 nodes, leaves of 4, 2:1. All to all: 4 of 7 other nodes lie beyond the leaf, 2 * 4/7 of the time. A ring of
  // consecutive nodes crosses with one of four nodes: an uplink of 2 node rates suffices.
  spec::Cluster c = toy();
  c.fabric.kind = spec::Fabric::Kind::fat_tree;
  const GroupShape g{64, 8, 8, 1};
  const double ring = seconds(CollectiveKind::all_gather, kGB, g, c),
               direct = seconds(CollectiveKind::all_to_all, kGB, g, c);
  c.fabric.leaf_nodes = 4;
  c.fabric.oversubscription = 2;
  EXPECT_DOUBLE_EQ(seconds(CollectiveKind::all_gather, kGB, g, c), ring);
  EXPECT_NEAR(seconds(CollectiveKind::all_to_all, kGB, g, c), direct * 8 / 7, 1e-12);
  c.fabric.oversubscription = 8;  // a leaf's uplinks now carry half a node's rate
  EXPECT_NEAR(seconds(CollectiveKind::all_gather, kGB, g, c), ring * 2, 1e-12);
}

TEST(ClosedForm, WithoutNvlinkPcieCarriesTheRing) {
  spec::Cluster c = toy();
  c.node.nvlink = {};
  EXPECT_DOUBLE_EQ(seconds(CollectiveKind::all_gather, 8 * kGB, {8, 8, 1, 1}, c), 7.0 / 20);
  // Through the host's memory, written and read once by each of 8: 160 GB/s / 16 = 10 GB/s.
  c.node.pcie.p2p = false;
  c.node.host.bandwidth = GBps(160);
  EXPECT_DOUBLE_EQ(seconds(CollectiveKind::all_gather, 8 * kGB, {8, 8, 1, 1}, c), 7.0 / 10);
}

TEST(ClosedForm, AMeshGivesTheLinksThatLeadToMembers) {
  // 4 GPUs, 90 GB/s over three neighbours: two members have the 30 GB/s between them.
  spec::Cluster c = toy();
  c.node.nvlink = {GBps(90), 4, spec::Switch::mesh, false};
  EXPECT_NEAR(seconds(CollectiveKind::all_gather, 2 * kGB, {2, 2, 1, 1}, c), 1.0 / 30, 1e-12);
  EXPECT_NEAR(seconds(CollectiveKind::all_gather, 4 * kGB, {4, 4, 1, 1}, c), 3.0 / 90, 1e-12);
}

TEST(ClosedForm, BridgedPairsOfANodeMeetOverPcie) {
  spec::Cluster c = toy();
  c.node.nvlink = {GBps(100), 2, spec::Switch::mesh, false};
  EXPECT_DOUBLE_EQ(seconds(CollectiveKind::all_gather, 2 * kGB, {2, 2, 1, 1}, c), 1.0 / 100);
  EXPECT_DOUBLE_EQ(seconds(CollectiveKind::all_gather, 2 * kGB, {2, 1, 2, 0}, c), 1.0 / 20);
  EXPECT_DOUBLE_EQ(sim::price(plan::Transfer{2 * kGB, true, 0}, c).time.si(), 0.1);
}

TEST(ClosedForm, ATransferUsesOneCardOrNvlink) {
  EXPECT_DOUBLE_EQ(sim::price(plan::Transfer{kGB, true, 8}, toy()).time.si(), 0.1);
  EXPECT_DOUBLE_EQ(sim::price(plan::Transfer{kGB, true, 1}, toy()).time.si(), 0.1);
  EXPECT_DOUBLE_EQ(sim::price(plan::Transfer{kGB, false, 1}, toy()).time.si(), 0.01);
}

TEST(ClosedForm, NothingToDoTakesNoTime) {
  EXPECT_EQ(seconds(CollectiveKind::all_reduce, kGB, {1, 1, 1, 1}), 0);
  EXPECT_EQ(seconds(CollectiveKind::all_reduce, 0, {8, 8, 1, 1}), 0);
  EXPECT_EQ(sim::price(plan::Transfer{}, toy()).time.si(), 0);
}

TEST(ClosedForm, ARingAllReduceSendsTwiceAllButOwnShare) {
  for (int n = 1; n < 100; ++n) {
    const Collective c{CollectiveKind::all_reduce, 1000, {n, n, 1, 1}};
    EXPECT_NEAR(sim::bytes_sent_per_rank(c), 2000.0 * (n - 1) / n, 1e-9);
  }
}

class Laws : public ::testing::Test {
 protected:
  double uniform(double low, double high) { return std::uniform_real_distribution<>(low, high)(random_); }
  int pick(std::initializer_list<int> of) { return *(of.begin() + random_() % of.size()); }

  spec::PathCurve curve() {
    spec::PathCurve c;
    c.efficiency = uniform(0.1, 1);
    c.latency = us(uniform(0, 50));
    c.hop = us(uniform(0, 20));
    c.ramp = base::Bytes(uniform(0, 1e7));
    c.local = uniform(0, 1);
    c.decay = uniform(0, 0.8);
    if (pick({0, 1})) c.low_latency = {uniform(0.05, 0.5), us(uniform(0, 20)), us(uniform(0, 5))};
    return c;
  }
  // All rings of one path share a curve, as the laws that compare them need.
  spec::Cluster cluster() {
    spec::Cluster c = toy();
    c.node.links = all(curve());
    c.fabric.calibration = all(curve());
    c.node.nvlink.multicast = pick({0, 1});
    if (pick({0, 1})) c.node.links.nvls = curve();
    if (pick({0, 1})) c.fabric.calibration.tree = curve();
    c.node.nvlink.bandwidth = GBps(uniform(1, 900));
    c.node.nic = {GBps(uniform(1, 100)), pick({1, 2, 4, 8, 16}), spec::NicKind::roce};
    if (pick({0, 1})) c.node.nvlink.via = spec::Switch::mesh;
    c.fabric.kind = spec::Fabric::Kind::fat_tree;
    c.fabric.leaf_nodes = pick({0, 2, 8});
    c.fabric.oversubscription = pick({1, 2, 4});
    return c;
  }
  Collective work() {
    const int members = pick({1, 2, 4, 8}), domains = pick({1, 2, 3, 16, 64});
    const int sharing = pick({1, 8 / members});
    return {static_cast<CollectiveKind>(pick({0, 1, 2, 3, 4})),
            static_cast<std::int64_t>(std::exp(uniform(3, 23))),
            {members * domains, members, domains, sharing}};
  }
  static constexpr double kRound = 1 + 1e-12;
  std::mt19937 random_{11};
};

TEST_F(Laws, MoreBandwidthIsNeverSlower) {
  for (int i = 0; i < 5000; ++i) {
    const spec::Cluster c = cluster();
    spec::Cluster nvlink = c, nic = c, cards = c, bisection = c;
    nvlink.node.nvlink.bandwidth = c.node.nvlink.bandwidth * uniform(1, 3);
    nic.node.nic.bandwidth = c.node.nic.bandwidth * uniform(1, 3);
    cards.node.nic.count *= 2;
    bisection.fabric.oversubscription = 1;
    const Collective w = work();
    const double before = sim::price(w, c).time.si();
    for (const auto& better : {nvlink, nic, cards, bisection})
      EXPECT_LE(sim::price(w, better).time.si(), before * kRound);
  }
}

TEST_F(Laws, MoreBytesAreNeverFaster) {
  for (int i = 0; i < 5000; ++i) {
    const spec::Cluster c = cluster();
    const Collective w = work();
    Collective more = w;
    more.bytes += 1 + static_cast<std::int64_t>(w.bytes * uniform(0, 2));
    EXPECT_LE(sim::price(w, c).time.si(), sim::price(more, c).time.si() * kRound);
  }
}

TEST_F(Laws, SharingCardsIsNeverFaster) {
  for (int i = 0; i < 5000; ++i) {
    const spec::Cluster c = cluster();
    const Collective w = work();
    Collective crowded = w;
    crowded.group.sharing *= 2;
    EXPECT_LE(sim::price(w, c).time.si(), sim::price(crowded, c).time.si() * kRound);
  }
}

TEST_F(Laws, AnAllReduceIsNoSlowerThanScatterAndGather) {
  // With one curve for all rings an all_reduce is both passes after one start-up; a ramp only helps the longer message.
  for (int i = 0; i < 5000; ++i) {
    const spec::Cluster c = cluster();
    Collective w = work();
    w.kind = CollectiveKind::all_reduce;
    const double whole = sim::price(w, c).time.si();
    double parts = 0;
    for (auto kind : {CollectiveKind::reduce_scatter, CollectiveKind::all_gather}) {
      w.kind = kind;
      parts += sim::price(w, c).time.si();
    }
    EXPECT_LE(whole, parts * kRound);
  }
}

TEST_F(Laws, AGatherIsNoSlowerThanABroadcastOfTheResult) {
  // Both stream through the same ring; the broadcast sends N/(N-1) of what the gather sends, the gather copies its own.
  for (int i = 0; i < 5000; ++i) {
    spec::Cluster c = cluster();
    c.node.links.all_gather.local = c.fabric.calibration.all_gather.local = 0;
    Collective w = work();
    w.kind = CollectiveKind::all_gather;
    const double gather = sim::price(w, c).time.si();
    w.kind = CollectiveKind::broadcast;
    EXPECT_LE(gather, sim::price(w, c).time.si() * kRound);
  }
}

}  // namespace
