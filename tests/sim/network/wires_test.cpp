// tests/sim/network/wires_test.cpp -- links and routes of every kind of fabric, by name and capacity.
// SPDX-License-Identifier: Apache-2.0
#include "sim/network/wires.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/support/toy.h"

namespace {

using base::GBps;
using Kind = spec::Fabric::Kind;

std::string way(const spec::Cluster& c, int source, int target) {
  const sim::Wires wires(c);
  std::vector<sim::Wires::Link> links;
  wires.route(source, target, links);
  std::string out;
  for (const sim::Wires::Link link : links) out += (out.empty() ? "" : ", ") + wires.name(link);
  return out;
}

double capacity(const spec::Cluster& c, const std::string& name) {
  const sim::Wires wires(c);
  for (sim::Wires::Link link = 0; link < wires.links(); ++link) {
    if (wires.name(link) == name) return wires.capacity(link).si() / 1e9;
  }
  return -1;
}

spec::Cluster tree(Kind kind) {  // 16 nodes of 8, leaves of 4 nodes, cards of 10 GB/s
  spec::Cluster c = toy::cluster(128);
  c.fabric.kind = kind;
  c.fabric.leaf_nodes = 4;
  c.fabric.oversubscription = 2;
  return c;
}

TEST(Wires, NvlinkSwitchesGiveEachGpuItsLinks) {
  EXPECT_EQ(way(toy::cluster(8), 1, 6), "nvlink up 1, nvlink down 6");
  EXPECT_EQ(way(toy::cluster(8), 3, 3), "");
}

TEST(Wires, AMeshHasALinkForEachPair) {
  spec::Cluster c = toy::cluster(8);
  c.node.nvlink = {GBps(90), 4, spec::Switch::mesh, false};
  EXPECT_EQ(way(c, 4, 6), "nvlink pair 18");  // second domain, from its first to its third: 16 + 2
  EXPECT_DOUBLE_EQ(capacity(c, "nvlink pair 18"), 30);
  EXPECT_EQ(way(c, 0, 6), "pcie up 0, pcie down 6");
}

TEST(Wires, WithoutPeerToPeerDataPassesTheHostsMemory) {
  // Written and read once: half of the host's 100 GB/s.
  spec::Cluster c = toy::cluster(16);
  c.node.nvlink = {};
  c.node.pcie.p2p = false;
  EXPECT_EQ(way(c, 9, 12), "pcie up 9, host memory 1, pcie down 12");
  EXPECT_DOUBLE_EQ(capacity(c, "host memory 1"), 50);
}

TEST(Wires, NeighboursShareACard) {
  spec::Cluster c = toy::cluster(16);
  c.node.nvlink = {};
  c.node.nic.count = 2;
  EXPECT_EQ(way(c, 3, 12), "nic up 0, nic down 3");
  c.node.nic.count = 32;  // four cards a GPU
  EXPECT_DOUBLE_EQ(capacity(c, "nic up 0"), 40);
}

TEST(Wires, AFatTreesLeafJoinsAllCardsOfItsNodes) {
  // 4 nodes x 8 cards x 10 GB/s at 2:1 are 160 GB/s. GPU 0 to 40 (node 5) leaves leaf 0 for leaf 1.
  const spec::Cluster c = tree(Kind::fat_tree);
  EXPECT_EQ(way(c, 0, 9), "nic up 0, nic down 9");
  EXPECT_EQ(way(c, 0, 40), "nic up 0, leaf up 0, leaf down 1, nic down 40");
  EXPECT_DOUBLE_EQ(capacity(c, "leaf up 0"), 160);
}

TEST(Wires, ATierAboveMultipliesOversubscription) {
  // Pods of two leaves at 2:1 more: 8 nodes x 80 GB/s / 4 = 160 GB/s.
  spec::Cluster c = tree(Kind::fat_tree);
  c.fabric.upper_tiers = {{8, 2}};
  EXPECT_EQ(way(c, 0, 40), "nic up 0, leaf up 0, leaf down 1, nic down 40");
  EXPECT_EQ(way(c, 0, 64), "nic up 0, leaf up 0, tier up 0, tier down 1, leaf down 2, nic down 64");
  EXPECT_DOUBLE_EQ(capacity(c, "tier up 0"), 160);
  std::vector<sim::Wires::Link> links;
  EXPECT_EQ(sim::Wires(c).route(0, 64, links), 5);  // switches: leaf, pod, core, pod, leaf
}

TEST(Wires, ARailsLeafJoinsCardsOfOnePlace) {
  // 4 cards x 10 GB/s at 2:1. Rail 3 of the second leaf group is leaf 1 * 8 + 3. A target on another rail is reached
  // from the card of its rail, to which NVLink hands over; without NVLink by way of the spine.
  spec::Cluster c = tree(Kind::rail_optimized);
  EXPECT_DOUBLE_EQ(capacity(c, "leaf up 0"), 20);
  EXPECT_EQ(way(c, 3, 11), "nic up 3, nic down 11");
  EXPECT_EQ(way(c, 3, 43), "nic up 3, leaf up 3, leaf down 11, nic down 43");
  EXPECT_EQ(way(c, 3, 8), "nic up 0, nic down 8");
  c.node.nvlink = {};
  EXPECT_EQ(way(c, 3, 8), "nic up 3, leaf up 3, leaf down 0, nic down 8");
}

TEST(Wires, RacksAreIslandsJoinedByRails) {
  spec::Cluster c = toy::cluster(144 * 8);  // hosts of 8, domains of 144
  c.node.nvlink.domain = 144;
  c.fabric.kind = Kind::nvl_rack;
  c.fabric.leaf_nodes = 18;
  EXPECT_EQ(way(c, 0, 143), "nvlink up 0, nvlink down 143");
  EXPECT_EQ(way(c, 0, 144), "nic up 0, leaf up 0, leaf down 8, nic down 144");
}

TEST(Wires, ADragonflysGroupsAreATierOrDirectLinks) {
  // Groups of two leaves; 4 groups. A group sends 8 x 80 / 2 = 320 GB/s; minimal: a third of it to each other group.
  spec::Cluster c = tree(Kind::dragonfly);
  c.fabric.upper_tiers = {{8, 1}};
  EXPECT_EQ(way(c, 0, 64), "nic up 0, leaf up 0, tier up 0, tier down 1, leaf down 2, nic down 64");
  c.fabric.routing = spec::Fabric::Routing::minimal;
  c.fabric.groups = 4;
  EXPECT_EQ(way(c, 0, 64), "nic up 0, leaf up 0, tier up 0, group pair 1, tier down 1, leaf down 2, nic down 64");
  EXPECT_NEAR(capacity(c, "group pair 1"), 320.0 / 3, 1e-9);
}

TEST(Wires, ATorusGoesTheShortWayDimensionByDimension) {
  // 4 x 4 nodes, links 4 a node (+x -x +y -y). Node 0 to 7 = (3, 1): one back round x (0's -x), one up y (from 3).
  spec::Cluster c = toy::cluster(128);
  c.fabric.kind = Kind::torus;
  c.fabric.shape = {4, 4};
  c.fabric.link = GBps(100);
  EXPECT_EQ(way(c, 0, 56), "nic up 0, torus 1, torus 14, nic down 56");
  EXPECT_EQ(way(c, 0, 16), "nic up 0, torus 0, torus 4, nic down 16");   // two ahead, as far as two back
  EXPECT_EQ(way(c, 1, 17), "nic up 1, torus 1, torus 13, nic down 17");  // the next GPU goes the other way
}

TEST(Wires, RoutesOfTwoDirectionsShareNoLink) {
  for (const Kind kind : {Kind::single_switch, Kind::fat_tree, Kind::rail_optimized, Kind::dragonfly, Kind::torus}) {
    spec::Cluster c = tree(kind);
    c.fabric.upper_tiers = {{8, 2}};
    c.fabric.shape = {4, 4};
    c.fabric.link = GBps(100);
    const sim::Wires wires(c);
    for (int a = 0; a < 128; a += 7) {
      for (int b = 0; b < 128; b += 5) {
        std::vector<sim::Wires::Link> there, back;
        EXPECT_EQ(wires.route(a, b, there), wires.route(b, a, back));
        EXPECT_EQ(there.size(), back.size());
        const std::set<sim::Wires::Link> seen(there.begin(), there.end());
        for (const sim::Wires::Link link : back) EXPECT_FALSE(seen.contains(link)) << a << " " << b;
      }
    }
  }
}

}  // namespace
