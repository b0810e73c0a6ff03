// tests/core/spec/rank_order_test.cpp -- orders that are read, and those refused by name.
// SPDX-License-Identifier: Apache-2.0
#include "core/spec/rank_order.h"

#include <gtest/gtest.h>

#include "tests/support/toy.h"

namespace {

TEST(RankOrder, ReadsAnyOrderOfTheAxes) {
  EXPECT_EQ(spec::parse_rank_order("tp-cp-ep-dp-pp"), spec::RankOrder());
  EXPECT_EQ(spec::parse_rank_order("tp-cp-dp-pp"), spec::RankOrder());  // ep stands in front of dp
  EXPECT_EQ(spec::parse_rank_order("tp-cp-pp-dp"), (spec::RankOrder{0, 1, 3, 4, 2}));
  for (const char* wrong : {"", "tp", "tp-cp-dp", "tp-cp-dp-pp-", "tp-tp-cp-dp-pp", "tp cp dp pp", "tp-cp-dp-xp"}) {
    EXPECT_FALSE(spec::parse_rank_order(wrong)) << wrong;
  }
}

TEST(RankOrder, AnythingBetweenCpAndDpIsRefusedWhereItMatters) {
  spec::Job j = toy::draft({.tp = 2, .pp = 2, .dp = 2});
  j.strategy.rank_order = "tp-cp-pp-dp";
  EXPECT_TRUE(spec::rank_order_faults(j).empty());  // cp 1: nothing to part
  j.strategy.cp = 2;
  EXPECT_EQ(spec::rank_order_faults(j).size(), 1u);
  j.strategy.rank_order = "tp-pp-cp-dp";
  EXPECT_TRUE(spec::rank_order_faults(j).empty());
}

TEST(RankOrder, ExpertsMustBeCutIntoTheSameStages) {
  spec::Job j = toy::draft({.tp = 2, .pp = 2, .dp = 4});
  j.model.moe = spec::Moe{};
  j.strategy.ep = 4;
  j.strategy.rank_order = "tp-cp-pp-ep-dp";  // stages every 2 ranks, experts would have theirs every etp = 1
  EXPECT_EQ(spec::rank_order_faults(j).size(), 1u);
  j.strategy.etp = 2;
  EXPECT_TRUE(spec::rank_order_faults(j).empty());
  j.strategy.rank_order = "tp-cp-ep-dp-pp";
  j.strategy.etp = 1;
  EXPECT_TRUE(spec::rank_order_faults(j).empty());
  j.strategy.ep = 3;  // does not fold over the 8 ranks of a stage: told with ep, no order would mend it
  EXPECT_TRUE(spec::rank_order_faults(j).empty());
}

}  // namespace
