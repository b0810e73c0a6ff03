// tests/sim/network/algorithms_test.cpp -- toy cluster (NVLink 100 GB/s, 8 cards of 10 GB/s, perfect curves): every
// number can be done in the head. SPDX-License-Identifier: Apache-2.0
#include "sim/network/algorithms.h"

#include <gtest/gtest.h>

namespace {

using base::GBps;
using base::us;
using plan::Collective;
using plan::CollectiveKind;
using plan::GroupShape;
using spec::Algorithm;

constexpr std::int64_t kGB = 1'000'000'000;
const GroupShape kTwoNodes{16, 8, 2, 1}, kOneNode{8, 8, 1, 1}, kOneRankANode{16, 1, 16, 1};

spec::PathCurve perfect() {
  spec::PathCurve c;
  c.efficiency = 1;
  return c;
}

spec::Cluster toy() {
  spec::Cluster c;
  c.node.gpus = 8;
  c.node.nvlink = {GBps(100), 8, spec::Switch::nvswitch, true};
  c.node.nic = {GBps(10), 8, spec::NicKind::infiniband};
  c.node.pcie = {GBps(20), true, {}};
  c.nodes = 64;
  c.fabric.in_switch_reduction = true;
  for (spec::NetworkCalibration* path : {&c.node.links, &c.fabric.calibration}) {
    for (const spec::CurveName& one : spec::kCurveNames) path->*one.curve = perfect();
  }
  return c;
}

double seconds(Algorithm by, CollectiveKind kind, std::int64_t bytes, GroupShape g, const spec::Cluster& c = toy()) {
  return sim::price(Collective{kind, bytes, g}, c, by).time.si();
}

TEST(Algorithms, TheTreesCardsCarryTheBufferOnceBetweenTwoNodes) {
  // 8 GB, a node's cards 80 GB/s: 0.1 s; the chain inside carries 16 GB at 100 GB/s: 0.16 s, which rules.
  EXPECT_DOUBLE_EQ(seconds(Algorithm::tree, CollectiveKind::all_reduce, 8 * kGB, kTwoNodes), 0.16);
  // With switches that add up, 9 GB a link: 0.09 s, so the cards rule.
  EXPECT_DOUBLE_EQ(seconds(Algorithm::nvls_tree, CollectiveKind::all_reduce, 8 * kGB, kTwoNodes), 0.1);
}

TEST(Algorithms, ShARPSendsTheBufferUpAndTheSumDownAtOnce) {
  // 16 nodes, 8 GB at 80 GB/s: 0.1 s whatever their number, where a tree's cards carry 2 x 15/16 of it: 0.1875 s.
  const GroupShape many{128, 8, 16, 1};
  EXPECT_DOUBLE_EQ(seconds(Algorithm::collnet, CollectiveKind::all_reduce, 8 * kGB, many), 0.1);
  EXPECT_DOUBLE_EQ(seconds(Algorithm::nvls_tree, CollectiveKind::all_reduce, 8 * kGB, many), 0.1875);
  // Without NVLink switches that add up each rank reduces and gathers an eighth: 14 GB at 100 GB/s.
  spec::Cluster plain = toy();
  plain.node.nvlink.multicast = false;
  EXPECT_DOUBLE_EQ(seconds(Algorithm::collnet, CollectiveKind::all_reduce, 8 * kGB, many, plain), 0.14);
}

TEST(Algorithms, PatTakesStepsOfTheLogarithm) {
  // 16 nodes with a rank each: 15 hops of 10 us in a ring, 4 in the trees; 16 bytes weigh nothing.
  spec::Cluster c = toy();
  c.fabric.calibration.all_gather.hop = c.fabric.calibration.pat.hop = us(10);
  EXPECT_NEAR(seconds(Algorithm::ring, CollectiveKind::all_gather, 16, kOneRankANode, c), 150e-6, 1e-8);
  EXPECT_NEAR(seconds(Algorithm::pat, CollectiveKind::all_gather, 16, kOneRankANode, c), 40e-6, 1e-8);
  EXPECT_EQ(sim::price({CollectiveKind::all_gather, 16, kOneRankANode}, c).algorithm, Algorithm::pat);
  // It is for one rank a node.
  EXPECT_FALSE(sim::offered(Algorithm::pat, {CollectiveKind::all_gather, 16, kTwoNodes}, c));
}

TEST(Algorithms, AHierarchyAddsItsPhases) {
  // 8 GB on 2 nodes: scattered inside, 7 GB at 100 GB/s: 0.07 s; reduced between pairs on 8 rails, 1 GB at 10 GB/s: 0.1
  // s; gathered inside: 0.07 s.
  EXPECT_DOUBLE_EQ(seconds(Algorithm::hierarchical, CollectiveKind::all_reduce, 8 * kGB, kTwoNodes), 0.24);
  // Gather: 1 GB of each rail, half of it from the other node: 0.05 s; then 0.07 s.
  EXPECT_DOUBLE_EQ(seconds(Algorithm::hierarchical, CollectiveKind::all_gather, 8 * kGB, kTwoNodes), 0.12);
}

TEST(Algorithms, OverNvlinkARankMeetsOnePeerANodeInAnExchange) {
  // PXN: 7 other nodes, 7 hops of 10 us. Over PCIe: 56 other ranks, 56 hops.
  spec::Cluster c = toy();
  c.fabric.calibration.all_to_all.hop = us(10);
  const Collective work{CollectiveKind::all_to_all, 64, {64, 8, 8, 1}};
  EXPECT_NEAR(sim::price(work, c).time.si(), 70e-6, 1e-7);
  c.node.nvlink = {};
  EXPECT_NEAR(sim::price(work, c).time.si(), 560e-6, 1e-7);
}

TEST(Algorithms, WithoutNvlinkAllOfAnExchangeLeavesByPcie) {
  // 16 GB on 2 nodes, 1 GB for each member: 15 GB by the one link of 20 GB/s to the other GPUs and to the card alike,
  // 0.75 s, where the card's 8 GB take 0.8 s; with faster cards PCIe is what is left, and twice the nodes are no faster
  // than one, whose 14 GB take 0.7 s.
  spec::Cluster c = toy();
  c.node.nvlink = {};
  EXPECT_NEAR(seconds(Algorithm::direct, CollectiveKind::all_to_all, 16 * kGB, kTwoNodes, c), 0.8, 1e-9);
  c.node.nic.bandwidth = GBps(40);
  EXPECT_NEAR(seconds(Algorithm::direct, CollectiveKind::all_to_all, 16 * kGB, kTwoNodes, c), 0.75, 1e-9);
  EXPECT_NEAR(seconds(Algorithm::direct, CollectiveKind::all_to_all, 16 * kGB, kOneNode, c), 0.7, 1e-9);
}

TEST(Algorithms, MembersOfSeveralIslandsOfANodeAreNotJoinedByNvlink) {
  // Two islands of four in each node, members every second GPU: four of a node lie in both, as in a node of pieces.
  spec::Cluster c = toy();
  c.node.nvlink.domain = 4;
  const auto group = [](int stride) { return GroupShape{8, 4, 2, stride, {stride, stride, 8 * stride, 64}}; };
  const auto gathered = [&](int stride, GroupShape g) {
    return sim::price(Collective{CollectiveKind::all_gather, 8 * kGB, g}, c).time.si() * (stride > 0 ? 1 : 0);
  };
  EXPECT_GT(gathered(2, group(2)), gathered(1, group(1)));
}

TEST(Algorithms, WhatACollectiveLacksFallsBackToTheRing) {
  const auto chosen = [](Algorithm by, CollectiveKind kind, GroupShape g) {
    return sim::price(Collective{kind, kGB, g}, toy(), by).algorithm;
  };
  EXPECT_EQ(chosen(Algorithm::nvls, CollectiveKind::all_gather, kOneNode), Algorithm::ring);
  EXPECT_EQ(chosen(Algorithm::nvls, CollectiveKind::all_reduce, kTwoNodes), Algorithm::ring);
  EXPECT_EQ(chosen(Algorithm::collnet, CollectiveKind::all_reduce, kOneNode), Algorithm::ring);
  EXPECT_EQ(chosen(Algorithm::ring, CollectiveKind::all_to_all, kTwoNodes), Algorithm::direct);
  EXPECT_EQ(chosen(Algorithm::tree, CollectiveKind::shift, kTwoNodes), Algorithm::direct);
}

TEST(Algorithms, AutoIsTheFastestOfWhatNcclHas) {
  for (const CollectiveKind kind :
       {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::broadcast}) {
    for (const GroupShape& group : {kOneNode, kTwoNodes, kOneRankANode}) {
      const Collective work{kind, kGB, group};
      const double best = sim::price(work, toy()).time.si();
      for (const Algorithm by : {Algorithm::ring, Algorithm::tree, Algorithm::nvls, Algorithm::nvls_tree,
                                 Algorithm::collnet, Algorithm::pat}) {
        EXPECT_LE(best, sim::price(work, toy(), by).time.si()) << spec::name(by);
      }
    }
  }
}

TEST(Algorithms, EachProtocolHasItsSizes) {
  // LL starts in 1 us at a tenth of the rate, LL128 in 3 us at 0.9, Simple in 10 us. 7/8 of the bytes at 100 GB/s:
  // 1 KiB: 1.1, 3.0, 10 us; 1 MB: 88.5, 12.7, 18.8 us; 1 GB: 9723 us and 8760 us for the last two.
  spec::Cluster c = toy();
  c.node.links.all_gather.latency = us(10);
  c.node.links.all_gather.low_latency = {0.1, us(1), {}};
  c.node.links.all_gather.ll128 = {0.9, us(3), {}};
  const auto protocol = [&](std::int64_t bytes) {
    return sim::price(Collective{CollectiveKind::all_gather, bytes, kOneNode}, c).protocol;
  };
  EXPECT_EQ(protocol(1024), sim::Protocol::ll);
  EXPECT_EQ(protocol(1'000'000), sim::Protocol::ll128);
  EXPECT_EQ(protocol(kGB), sim::Protocol::simple);
  c.node.links.all_gather.ll128 = {};
  EXPECT_EQ(protocol(1024), sim::Protocol::low_latency);
}

TEST(Algorithms, APathWithBothAsOneStandsForEitherBesideOneThatHasThemApart) {
  // 2 nodes gather 1.6 MB: 1.5 MB, between them at 80 x 0.5 GB/s: 37.5 us; inside by LL at 1 GB/s: 1500 us, by LL128 at
  // 90 GB/s: 17 us. Simple starts in 100 us.
  spec::Cluster c = toy();
  c.fabric.calibration.all_gather.latency = us(100);
  c.fabric.calibration.all_gather.low_latency = {0.5, {}, {}};
  c.node.links.all_gather.low_latency = {0.01, {}, {}};
  c.node.links.all_gather.ll128 = {0.9, {}, {}};
  const auto price = sim::price(Collective{CollectiveKind::all_gather, 1'600'000, kTwoNodes}, c);
  EXPECT_EQ(price.protocol, sim::Protocol::ll128);
  EXPECT_DOUBLE_EQ(price.time.si(), 37.5e-6);
}

}  // namespace
