// tests/sim/network/shift_test.cpp -- a ring hop on the toy cluster: NVLink 100 GB/s, a card of 10 GB/s for each GPU.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "sim/network/closed_form.h"
#include "tests/support/toy.h"

namespace {

double seconds(plan::GroupShape group, const spec::Cluster& c = toy::cluster(64)) {
  return sim::price(plan::Collective{plan::CollectiveKind::shift, 1'000'000'000, group}, c).time.si();
}

TEST(Shift, InsideADomainTakesOneMessage) {
  EXPECT_DOUBLE_EQ(seconds({4, 4, 1, 1}), 0.01);
  EXPECT_DOUBLE_EQ(seconds({8, 8, 1, 1}), 0.01);  // whatever the members
}

TEST(Shift, AcrossDomainsWaitsForTheOneHopThatLeaves) {
  EXPECT_DOUBLE_EQ(seconds({8, 4, 2, 1}), 0.1);  // one card, though four members are there
  EXPECT_DOUBLE_EQ(seconds({8, 1, 8, 8}), 0.1);  // eight groups, a card each
}

TEST(Shift, GroupsThatWantTheSameCardsShareThem) {
  spec::Cluster c = toy::cluster(64);
  c.node.nic.count = 2;
  EXPECT_DOUBLE_EQ(seconds({8, 1, 8, 8}, c), 0.4);  // eight groups on two cards
  EXPECT_DOUBLE_EQ(seconds({8, 4, 2, 2}, c), 0.1);
}

TEST(Shift, NeighboursThatLeaveShareTheCardNearThem) {
  // Four cards for eight GPUs, rings of 4 with 2 members a node, 4 ranks apart: the four GPUs that leave a node are
  // neighbours, on two cards, half of one each. Two apart, in two nodes: two GPUs leave by one card, half of it each.
  spec::Cluster c = toy::cluster(64);
  c.node.nic.count = 4;
  const auto group = [](int stride) { return plan::GroupShape{4, 2, 2, stride, {stride, stride, 4 * stride, 64}}; };
  EXPECT_DOUBLE_EQ(seconds(group(4), c), 0.2);
  EXPECT_DOUBLE_EQ(seconds(group(1), c), 0.1);
}

TEST(Shift, CountsItsBytesOnceOnTheBus) { EXPECT_EQ(sim::bus_factor(plan::CollectiveKind::shift, 4), 1); }

}  // namespace
