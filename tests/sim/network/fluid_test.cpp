// tests/sim/network/fluid_test.cpp -- folding and SimGrid against the plain oracle.
// SPDX-License-Identifier: Apache-2.0
#include "sim/network/fluid.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <thread>

#include "sim/network/simgrid.h"
#include "tests/sim/network/max_min.h"

namespace {

using sim::Fluid;

/// Up to `most` flows over up to 12 links of a few capacities, so that many are alike; some links twice on a route.
Fluid random_fluid(std::mt19937& random, int most) {
  const auto pick = [&](std::initializer_list<double> of) { return *(of.begin() + random() % of.size()); };
  Fluid fluid;
  const int links = 1 + static_cast<int>(random() % 12);
  for (int l = 0; l < links; ++l) fluid.capacities.push_back(pick({1, 1, 2, 5}));
  for (int left = 1 + static_cast<int>(random() % most); left > 0; --left) {
    std::vector<int> route;
    for (int hops = 1 + static_cast<int>(random() % 3); hops > 0; --hops) {
      route.push_back(static_cast<int>(random() % links));
    }
    fluid.add(pick({1, 1, 2, 0.5}), route);
  }
  return fluid;
}

TEST(MaxMin, AFlowOnTwoLinksLeavesTheRestToTheOther) {
  // Two flows share a link of 1, a third has what the first leaves of a link of 2: 1.5. At 2/3 it ends, moved 1; the
  // others need 1 / 0.5 = 2.
  Fluid fluid;
  fluid.capacities = {1, 2};
  fluid.add(1, {0, 1});
  fluid.add(1, {0});
  fluid.add(1, {1});
  EXPECT_EQ(oracle::rates(fluid, fluid.volumes), (std::vector<double>{0.5, 0.5, 1.5}));
  EXPECT_DOUBLE_EQ(oracle::last_end(fluid), 2);
}

TEST(MaxMin, OthersSpeedUpWhenOneEnds) {
  // Volumes 1 and 3 on a link of 1: both at 1/2 until 2, then 2 are left at rate 1: the end is 4.
  Fluid fluid;
  fluid.capacities = {1};
  fluid.add(1, {0});
  fluid.add(3, {0});
  EXPECT_DOUBLE_EQ(oracle::last_end(fluid), 4);
}

TEST(Fold, AlikeFlowsBecomeOne) {
  // Eight cards of 1, all into an uplink of 4: one flow over a card of 1 and an uplink of 4 / 8.
  Fluid fluid;
  fluid.capacities = {1, 1, 1, 1, 1, 1, 1, 1, 4};
  for (int card = 0; card < 8; ++card) fluid.add(1, {card, 8});
  const Fluid one = sim::folded(fluid);
  ASSERT_EQ(one.flows(), 1u);
  EXPECT_DOUBLE_EQ(oracle::last_end(one), 2);
}

TEST(Fold, ClassesKeepTheirProportions) {
  // Six flows of volume 1 and four of 2 on one link of 10: three and two on half of it. All at 1 until 1; then the four
  // have 2.5 each for what is left, 1: 1.4.
  Fluid fluid;
  fluid.capacities = {10};
  for (int f = 0; f < 10; ++f) fluid.add(f < 6 ? 1 : 2, {0});
  const Fluid small = sim::folded(fluid);
  EXPECT_EQ(small.flows(), 5u);
  EXPECT_DOUBLE_EQ(oracle::last_end(small), 1.4);
}

TEST(Fold, KeepsTheLastEndOfRandomFlows) {
  std::mt19937 random(3);
  std::size_t before = 0, after = 0;
  for (int i = 0; i < 1500; ++i) {
    Fluid fluid = random_fluid(random, 30);
    const std::size_t flows = fluid.flows(), links = fluid.capacities.size();
    for (int copies = static_cast<int>(random() % 3); copies > 0; --copies) {  // whole copies on links of their own
      const int shift = static_cast<int>(fluid.capacities.size());
      for (std::size_t l = 0; l < links; ++l) fluid.capacities.push_back(fluid.capacities[l]);
      for (std::size_t f = 0; f < flows; ++f) {
        std::vector<int> route(fluid.routes.begin() + static_cast<std::ptrdiff_t>(fluid.starts[f]),
                               fluid.routes.begin() + static_cast<std::ptrdiff_t>(fluid.starts[f + 1]));
        for (int& link : route) link += shift;
        fluid.add(fluid.volumes[f], route);
      }
    }
    const Fluid small = sim::folded(fluid);
    before += fluid.flows();
    after += small.flows();
    ASSERT_LE(small.flows(), flows);
    ASSERT_NEAR(oracle::last_end(small) / oracle::last_end(fluid), 1, 1e-9) << i;
  }
  EXPECT_LT(after, before);
}

TEST(LastEndByBounds, EqualVolumesEndWithTheFullestLink) {
  // Three flows of 2 on a link of 4: 6 / 4. A fourth on a link of its own ends before.
  Fluid fluid;
  fluid.capacities = {4, 10};
  for (int link : {0, 0, 0, 1}) fluid.add(2, {link});
  EXPECT_DOUBLE_EQ(sim::last_end_by_bounds(fluid).value(), 1.5);
}

TEST(LastEndByBounds, SaysNothingWhereVolumesOfAFullLinkDiffer) {
  Fluid fluid;
  fluid.capacities = {1};
  fluid.add(1, {0});
  fluid.add(2, {0});
  EXPECT_FALSE(sim::last_end_by_bounds(fluid).has_value());
}

TEST(LastEndByBounds, IsTheLastEndOfRandomFlowsWhereItSaysSo) {
  std::mt19937 random(4);
  int said = 0;
  for (int i = 0; i < 2000; ++i) {
    Fluid fluid = random_fluid(random, 30);
    if (i % 2 == 0) fluid.volumes.assign(fluid.flows(), 2);
    const std::optional<double> end = sim::last_end_by_bounds(fluid);
    ASSERT_TRUE(end.has_value() || i % 2 == 1);
    if (!end) continue;
    ++said;
    ASSERT_NEAR(*end / oracle::last_end(fluid), 1, 1e-9) << i;
  }
  EXPECT_GT(said, 1000);
}

TEST(SimGrid, AgreesWithTheOracleOnRandomFlows) {
  if (!sim::has_simgrid()) GTEST_SKIP() << "built without SimGrid";
  std::mt19937 random(5);
  for (int i = 0; i < 1000; ++i) {
    const Fluid fluid = random_fluid(random, 40);
    ASSERT_NEAR(sim::last_end(fluid) / oracle::last_end(fluid), 1, 1e-5) << i;
  }
}

TEST(SimGrid, GrowsItsPoolAndServesManyThreads) {
  if (!sim::has_simgrid()) GTEST_SKIP() << "built without SimGrid";
  const auto chain = [](int links) {  // each flow shares a link with the next: halves of 1 all along
    Fluid fluid;
    fluid.capacities.assign(static_cast<std::size_t>(links), 1);
    for (int f = 0; f < links; ++f) fluid.add(1, {f, (f + 1) % links});
    return fluid;
  };
  EXPECT_NEAR(sim::last_end(chain(500)), 2, 1e-6);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) EXPECT_NEAR(sim::last_end(chain(3 + i)), 2, 1e-6);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
