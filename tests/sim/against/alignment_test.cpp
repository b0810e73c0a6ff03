// SPDX-License-Identifier: Apache-2.0
#include "sim/against/alignment.h"

#include <gtest/gtest.h>

#include "tests/sim/against/rank_trace.h"

namespace {

using testing_support::RankTrace;

std::vector<sim::SpanPair> align(const RankTrace& one, const RankTrace& other) {
  return sim::align({&one.recorded().trace, 0}, {&other.recorded().trace, 0});
}

TEST(Alignment, TheSameTagIsTheSameOperatorWhereverItRuns) {
  // The other side numbers names otherwise, runs b first, and a on another stream.
  const RankTrace one = RankTrace().compute("a", 0, 10).compute("b", 10, 20);
  const RankTrace other = RankTrace().compute("b", 0, 7).gather("a", 7, 7, 9);
  const auto pairs = align(one, other);
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_EQ(pairs[0].other->track, 1u);
  EXPECT_EQ(pairs[1].other->track, 0u);
}

TEST(Alignment, LayersArePartOfTheTag) {
  const auto pairs = align(RankTrace().compute("a", 0, 10, 1), RankTrace().compute("a", 0, 10, 2));
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_FALSE(pairs[0].other);
  EXPECT_FALSE(pairs[1].one);
}

TEST(Alignment, OfSeveralTheNthMeetsTheNth) {
  // Three here, two there: the first two meet, the third has no counterpart.
  const auto pairs = align(RankTrace().compute("a", 0, 1).compute("a", 2, 3).compute("a", 4, 5),
                           RankTrace().compute("a", 10, 11).compute("a", 12, 13));
  ASSERT_EQ(pairs.size(), 3u);
  EXPECT_EQ(pairs[0].other->index, 0u);
  EXPECT_EQ(pairs[1].other->index, 1u);
  EXPECT_FALSE(pairs[2].other);
}

}  // namespace
