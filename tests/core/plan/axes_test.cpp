// tests/core/plan/axes_test.cpp -- which ranks form a group, in every order of the axes.
// SPDX-License-Identifier: Apache-2.0
#include "core/plan/axes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/plan/group_shape.h"
#include "core/spec/rank_order.h"
#include "tests/core/plan/walk.h"

namespace {

using plan::Axis;

spec::Strategy cut(int tp, int cp, int pp, int dp, std::string order) {
  spec::Strategy s;
  s.tp = tp;
  s.cp = cp;
  s.pp = pp;
  s.dp = dp;
  s.rank_order = std::move(order);
  return s;
}

/// Digits of a rank, the fastest axis first.
std::map<std::string, int> digits(int rank, const spec::Strategy& s) {
  const std::map<std::string, int> size{{"tp", s.tp}, {"cp", s.cp}, {"dp", *s.dp}, {"pp", s.pp}};
  std::map<std::string, int> out;
  for (std::size_t i = 0; i < s.rank_order.size(); i += 3) {
    const std::string axis = s.rank_order.substr(i, 2);
    out[axis] = rank % size.at(axis);
    rank /= size.at(axis);
  }
  return out;
}

TEST(Axes, PipelineFasterThanDataParallelPartsAStagesRanks) {
  // tp 2, pp 4, dp 3 as tp-cp-pp-dp: stage 1 is ranks 2 3, 10 11, 18 19.
  const plan::Axes axes = plan::axes_of(cut(2, 1, 4, 3, "tp-cp-pp-dp"));
  std::vector<int> ranks;
  for (int place = 0; place < axes.ranks; ++place) ranks.push_back(axes.rank_of(1, place));
  EXPECT_EQ(ranks, (std::vector<int>{2, 3, 10, 11, 18, 19}));
  EXPECT_EQ(axes.rank_stride(Axis::tp), 1);
  EXPECT_EQ(axes.rank_stride(Axis::dp), 8);
}

TEST(Axes, GroupsAreRanksThatDifferInTheirAxisAlone) {
  std::string order[4] = {"cp", "dp", "pp", "tp"};
  do {
    const std::string text = order[0] + '-' + order[1] + '-' + order[2] + '-' + order[3];
    for (const auto& [cp, dp] : {std::pair{1, 3}, std::pair{3, 1}, std::pair{2, 3}}) {
      const spec::Strategy s = cut(2, cp, 4, dp, text);
      spec::Job j;
      j.strategy = s;
      if (!spec::rank_order_faults(j).empty()) continue;
      const plan::Axes axes = plan::axes_of(s);
      std::set<int> seen;
      for (int stage = 0; stage < s.pp; ++stage) {
        for (int place = 0; place < axes.ranks; ++place) {
          const int rank = axes.rank_of(stage, place);
          seen.insert(rank);
          auto one = digits(rank, s);
          ASSERT_EQ(one["pp"], stage) << text;
          ASSERT_EQ(axes.place_of(rank), place) << text;
          for (int other = 0; other < axes.ranks; ++other) {
            auto two = digits(axes.rank_of(stage, other), s);
            const auto same = [&](Axis axis) { return axes[axis].group_of(place) == axes[axis].group_of(other); };
            ASSERT_EQ(same(Axis::tp), one["cp"] == two["cp"] && one["dp"] == two["dp"]) << text;
            ASSERT_EQ(same(Axis::cp), one["tp"] == two["tp"] && one["dp"] == two["dp"]) << text;
            ASSERT_EQ(same(Axis::dp), one["tp"] == two["tp"]) << text;
          }
        }
      }
      ASSERT_EQ(static_cast<int>(seen.size()), axes.ranks * s.pp) << text;
    }
  } while (std::next_permutation(std::begin(order), std::end(order)));
}

TEST(Axes, NeighbouringStagesInOneNodeUseNvlink) {
  // tp 2, pp 4: a replica fills a node of 8 when pp runs before dp, and no hop leaves it; data parallel then does.
  const auto job = [](const char* order) {
    return toy::job({.tp = 2, .pp = 4, .dp = 2}, [=](spec::Job& j) { j.strategy.rank_order = order; });
  };
  const spec::Job inside = job("tp-cp-pp-dp"), outside = job("tp-cp-dp-pp");
  const plan::Context near(inside), far(outside);
  EXPECT_FALSE(near.stage_transfer.crosses_domain);
  EXPECT_TRUE(far.stage_transfer.crosses_domain);
  EXPECT_EQ(near.dp_group, (plan::GroupShape{2, 1, 2, 8, {8, 8, 16, 16}}));
  EXPECT_EQ(far.dp_group, (plan::GroupShape{2, 2, 1, 1, {2, 2, 4, 16}}));
  EXPECT_EQ(near.embedding_group, (plan::GroupShape{2, 2, 1, 1, {6, 2, 8, 16}}));
}

TEST(Axes, HopsOfScatteredStagesAreCountedRankByRank) {
  // Nodes of 8, stages every 4 ranks, 4 of them, twice over 32 ranks: ranks 4 to 7 send to 8 to 11, four at once; the
  // last stage (12 to 15) sends nothing on to the next replica.
  const spec::Cluster c = toy::cluster(32);
  EXPECT_EQ(plan::stage_hop(4, 4, c, 32), (plan::Transfer{0, true, 4, {4, 12, 16, 32}}));
  EXPECT_EQ(plan::ends_shape(4, 4, c, 32), (plan::GroupShape{2, 1, 2, 4, {12, 4, 16, 32}}));
  EXPECT_EQ(plan::stage_hop(4, 2, c, 32), (plan::Transfer{0, false, 1, {4, 4, 8, 32}}));
}

}  // namespace
