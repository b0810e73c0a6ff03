// tests/real/measure/memberships_test.cpp -- tests real/measure/memberships.h: all ranks agree on who is in which
// communicator. SPDX-License-Identifier: Apache-2.0
#include "real/measure/memberships.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/plan/build.h"
#include "real/executor/place.h"
#include "tests/real/executor/tiny.h"

namespace {

using real::Membership;
using Kind = plan::Channel::Kind;

struct Cut {
  spec::Job job;
  plan::Plan plan;
  plan::Context c;
  int ranks;
  explicit Cut(const toy::Cut& cut)
      : job(toy::resolved(tiny::draft(tiny::llama(4), cut))),
        plan(plan::build(job)),
        c(job),
        ranks(plan.axes.ranks * plan.axes.stages) {}
  std::vector<std::vector<Membership>> all() const {
    std::vector<std::vector<Membership>> out;
    for (int rank = 0; rank < ranks; ++rank) out.push_back(real::memberships(c, plan, rank));
    return out;
  }
};

TEST(Memberships, RanksOfOneColorNameTheSameRanksInTheSameOrder) {
  const Cut cut({.tp = 2, .pp = 2, .dp = 2});
  const auto all = cut.all();
  for (std::size_t channel = 0; channel < cut.plan.channels.size(); ++channel) {
    std::map<int, std::set<int>> by_color;
    for (int rank = 0; rank < cut.ranks; ++rank) {
      const Membership& one = all[rank][channel];
      if (!one.color) continue;
      by_color[*one.color].insert(rank);
      EXPECT_EQ(one.ranks, all[*one.color][channel].ranks);
      EXPECT_EQ(one.ranks[one.key], rank);
    }
    for (const auto& [color, ranks] : by_color) {
      const auto& named = all[color][channel].ranks;
      EXPECT_EQ(ranks, std::set<int>(named.begin(), named.end()));
    }
  }
}

TEST(Memberships, AnEdgeJoinsTheTwoRanksAtOnePlaceOfNeighbouringStages) {
  // tp fastest, then dp, then pp: ranks 0 to 3 are stage 0, 4 to 7 stage 1; place 1 is ranks 1 and 5.
  const Cut cut({.tp = 2, .pp = 2, .dp = 2});
  int edges = 0;
  for (std::size_t channel = 0; channel < cut.plan.channels.size(); ++channel) {
    if (cut.plan.channels[channel].kind != Kind::forward_edge) continue;
    ++edges;
    const Membership one = cut.all()[5][channel];
    EXPECT_EQ(one.ranks, (std::vector<int>{1, 5}));
    EXPECT_EQ(one.key, 1);
    EXPECT_EQ(one.place_of(1), 0);
    EXPECT_EQ(one.place_of(2), -1);
  }
  EXPECT_EQ(edges, 1);
}

TEST(Memberships, AStageThatAnEdgePassesByHasNoPartInIt) {
  const Cut cut({.pp = 4});
  int passed_by = 0;
  for (std::size_t channel = 0; channel < cut.plan.channels.size(); ++channel) {
    const plan::Channel& of_plan = cut.plan.channels[channel];
    if (of_plan.kind != Kind::forward_edge) continue;
    for (int rank = 0; rank < 4; ++rank) {
      const bool at_an_end = rank == of_plan.from || rank == of_plan.to;
      EXPECT_EQ(cut.all()[rank][channel].color.has_value(), at_an_end);
      passed_by += !at_an_end;
    }
  }
  EXPECT_EQ(passed_by, 3 * 2);  // three edges, each passed by two of the four stages
}

}  // namespace
