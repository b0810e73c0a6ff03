// tests/sim/network/path_test.cpp -- slowdowns of each kind of fabric, worked out on paper.
// SPDX-License-Identifier: Apache-2.0
#include "sim/network/path.h"

#include <gtest/gtest.h>

#include "tests/support/toy.h"

namespace {

using base::GBps;
using Kind = spec::Fabric::Kind;

spec::Cluster cluster(Kind kind, double oversubscription = 1) {  // 64 nodes of 8 cards of 10 GB/s, leaves of 4 nodes
  spec::Cluster c = toy::cluster(512);
  c.fabric.kind = kind;
  c.fabric.leaf_nodes = 4;
  c.fabric.oversubscription = oversubscription;
  return c;
}

TEST(Slowdown, ATierBoundsOnlyGroupsThatOutgrowIt) {
  // Leaves 2:1, pods of 16 nodes 4:1 more. 4 nodes: none. 16: the leaf's 2 x 12/15 for all, 2/4 for neighbours. 32: the
  // pod's 8 x 16/31, more than the leaf's 2 x 28/31; 8/16 for neighbours. 64 nodes: 8 x 48/63.
  spec::Cluster c = cluster(Kind::fat_tree, 2);
  c.fabric.upper_tiers = {{16, 4}};
  EXPECT_DOUBLE_EQ(sim::slowdown_all_to_all(c, 4), 1);
  EXPECT_DOUBLE_EQ(sim::slowdown_all_to_all(c, 16), 2 * 12.0 / 15);
  EXPECT_DOUBLE_EQ(sim::slowdown_all_to_all(c, 32), 8 * 16.0 / 31);
  EXPECT_DOUBLE_EQ(sim::slowdown_all_to_all(c, 64), 8 * 48.0 / 63);
  EXPECT_DOUBLE_EQ(sim::slowdown_neighbours(c, 64), 1);
  c.fabric.upper_tiers = {{16, 16}};
  EXPECT_DOUBLE_EQ(sim::slowdown_neighbours(c, 16), 1);  // the leaf's 2 / 4
  EXPECT_DOUBLE_EQ(sim::slowdown_neighbours(c, 32), 2);  // the pod's 32 / 16
}

TEST(Slowdown, MinimalRoutesOfADragonflyShareTheLinkBetweenTwoGroups) {
  // 16 groups of 4 leaves: a fifteenth of a group's uplinks leads to each other group. Neighbours: one node of 16
  // crosses by 16/15 of a node's rate. All to all over 32 nodes, two groups: 16 nodes send 16/31 each over 16/15.
  spec::Cluster c = cluster(Kind::dragonfly);
  c.fabric.upper_tiers = {{16, 1}};
  c.fabric.groups = 16;
  EXPECT_DOUBLE_EQ(sim::slowdown_all_to_all(c, 32), 1);
  c.fabric.routing = spec::Fabric::Routing::minimal;
  EXPECT_DOUBLE_EQ(sim::slowdown_neighbours(c, 32), 1);
  EXPECT_DOUBLE_EQ(sim::slowdown_all_to_all(c, 32), 16.0 * (16.0 / 31) / (16.0 / 15));
  EXPECT_DOUBLE_EQ(sim::slowdown_all_to_all(c, 16), 1);  // inside one group
}

TEST(Slowdown, ATorusIsBoundByItsLinksAndItsMiddle) {
  // 80 GB/s of cards over links of 40: neighbours 2. All to all on 8 x 8: a ring of 8 carries 8/8 of a node's rate on
  // each link and direction, times 64/63 as nobody sends to itself: 2 x 64/63. On one row of 4 of the 8: 2 x 2 of the 3
  // pairs of each node pass the middle, 4/3 of a node's rate: 2 x 4/3.
  spec::Cluster c = cluster(Kind::torus);
  c.fabric.shape = {8, 8};
  c.fabric.link = GBps(40);
  EXPECT_DOUBLE_EQ(sim::slowdown_neighbours(c, 64), 2);
  EXPECT_DOUBLE_EQ(sim::slowdown_all_to_all(c, 64), 2 * 64.0 / 63);
  EXPECT_DOUBLE_EQ(sim::slowdown_all_to_all(c, 4), 2 * 4.0 / 3);
  EXPECT_DOUBLE_EQ(sim::slowdown_all_to_all(c, 1), 1);
}

}  // namespace
