// tests/sim/network/cargo_test.cpp -- which flows of several sets are alike.
// SPDX-License-Identifier: Apache-2.0
#include "sim/network/cargo.h"

#include <gtest/gtest.h>

namespace {

/// Flow by flow: set and route, volume 1, links of 10.
sim::Fluid fluid(int links, const std::vector<std::pair<int, std::vector<int>>>& flows) {
  sim::Fluid out;
  out.capacities.assign(static_cast<std::size_t>(links), 10);
  for (const auto& [set, route] : flows) {
    out.add(1, route);
    out.kinds.push_back(set);
  }
  return out;
}

TEST(Cargo, AlikeFlowsOfASetBecomeOne) {
  // Two sets that use links 0 and 1 alike: one flow each on one link.
  const sim::Cargo cargo = sim::stowed(fluid(2, {{0, {0}}, {0, {1}}, {1, {0}}, {1, {1}}}), 2);
  EXPECT_EQ(cargo.begin, (std::vector<std::size_t>{0, 1, 2}));
  ASSERT_EQ(cargo.fluid.capacities.size(), 1U);
  EXPECT_DOUBLE_EQ(cargo.fluid.capacities[0], 10);
}

TEST(Cargo, ASetThatUsesOneOfTwoLinksTellsTheOthersFlowsApart) {
  // Set 1 may slow the flow on link 0 while the one on link 1 runs free.
  const sim::Cargo cargo = sim::stowed(fluid(2, {{0, {0}}, {0, {1}}, {1, {0}}}), 2);
  EXPECT_EQ(cargo.begin, (std::vector<std::size_t>{0, 2, 3}));
  EXPECT_EQ(cargo.fluid.capacities, (std::vector<double>{10, 10}));
}

TEST(Cargo, SharesOnALinkStayAsTheyWere) {
  // Set 0 has two flows on each of two links, set 1 one: twice and once on one link.
  const sim::Cargo cargo = sim::stowed(fluid(2, {{0, {0}}, {0, {0}}, {0, {1}}, {0, {1}}, {1, {0}}, {1, {1}}}), 2);
  EXPECT_EQ(cargo.begin, (std::vector<std::size_t>{0, 2, 3}));
  ASSERT_EQ(cargo.fluid.capacities.size(), 1U);
  EXPECT_DOUBLE_EQ(cargo.fluid.capacities[0], 10);
}

TEST(Cargo, ASetMayBeEmpty) {
  EXPECT_EQ(sim::stowed(fluid(1, {{1, {0}}}), 3).begin, (std::vector<std::size_t>{0, 0, 1, 1}));
}

}  // namespace
