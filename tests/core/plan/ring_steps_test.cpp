// tests/core/plan/ring_steps_test.cpp -- who attends to what when a sequence is cut, against counting pair by pair.
// SPDX-License-Identifier: Apache-2.0
#include "core/plan/ring_steps.h"

#include <gtest/gtest.h>

#include "tests/core/plan/walk.h"

namespace {

using plan::Mask;
using plan::RingStep;
using plan::Stretch;

/// Pair by pair. A causal square of n counts n^2/2, the mean of the triangles with and without their diagonal; so each
/// edge of the mask counts half of the pairs that lie on it.
double counted(Stretch q, Stretch k, Mask mask) {
  double sum = 0;
  for (std::int64_t i = q.begin; i < q.begin + q.length; ++i) {
    for (std::int64_t j = k.begin; j < k.begin + k.length; ++j) {
      const std::int64_t back = i - j;
      const std::int64_t low = mask.causal ? 0 : -mask.window / 2;
      const std::int64_t high = mask.causal ? mask.window : mask.window / 2;
      const bool all = mask.window == 0;
      if (!mask.causal && all) {
        sum += 1;
      } else {
        sum += (back >= low && (all || back < high) ? 0.5 : 0) + (back > low && (all || back <= high) ? 0.5 : 0);
      }
    }
  }
  return sum;
}

double of_rank(int rank, int cp, std::int64_t sequence, bool zigzag, Mask mask) {
  double sum = 0;
  for (const Stretch& q : plan::stretches_of(rank, cp, sequence, zigzag)) {
    sum += plan::attended_pairs(q, {0, sequence}, mask);
  }
  return sum;
}

TEST(RingSteps, PairsAreThoseThatCountingFinds) {
  walk::Dice dice(31);
  for (int n = 0; n < 300; ++n) {
    const Stretch q{dice.below(40), dice.from(1, 20)}, k{dice.below(40), dice.from(1, 20)};
    const Mask mask{dice.coin(), dice.of({0, 2, 6, 16, 50})};
    ASSERT_DOUBLE_EQ(plan::attended_pairs(q, k, mask), counted(q, k, mask)) << n;
  }
}

TEST(RingSteps, OfAZigzagAreOneSquareAndThenRectanglesOfTheSameWork) {
  // s = 64 over 4 ranks: chunks of 8, two a rank. Own 16 x 16 causal: 128 pairs; then 16 queries on 8 keys: 128.
  const std::vector<RingStep> steps = plan::ring_steps(4, 64, true, {});
  ASSERT_EQ(steps.size(), 4u);
  EXPECT_EQ(steps[0].queries, 16);
  EXPECT_EQ(steps[0].keys, 16);
  for (const RingStep& step : steps) EXPECT_EQ(step.pairs, 128);
  for (std::size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(steps[i].queries, 16);
    EXPECT_EQ(steps[i].keys, 8);
  }
}

TEST(RingSteps, OfContiguousPartsAreWholeSquaresForTheLastRank) {
  const std::vector<RingStep> steps = plan::ring_steps(4, 64, false, {});
  ASSERT_EQ(steps.size(), 4u);
  EXPECT_EQ(steps[0].pairs, 128);  // 16^2 / 2
  for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(steps[i].pairs, 256);
}

TEST(RingSteps, EndWhereAWindowReachesNoFurther) {
  // Parts of 16: a window of 16 reaches the neighbour and no further, one of 20 the next but one.
  EXPECT_EQ(plan::ring_steps(4, 64, false, {true, 16}).size(), 2u);
  EXPECT_EQ(plan::ring_steps(4, 64, false, {true, 20}).size(), 3u);
  // In a zigzag the neighbour of a chunk may be one rank ahead, so K and V go all the way round.
  EXPECT_EQ(plan::ring_steps(4, 64, true, {true, 8}).size(), 4u);
}

TEST(RingSteps, AreOfTheRankThatHasMostToDo) {
  walk::Dice dice(32);
  for (int n = 0; n < 200; ++n) {
    const int cp = dice.of({2, 3, 4, 8});
    const std::int64_t sequence = std::int64_t{2} * cp * dice.from(1, 9);
    const bool zigzag = dice.coin();
    const Mask mask{true, dice.of({0, 3, 10, 40})};
    double steps = 0;
    for (const RingStep& step : plan::ring_steps(cp, sequence, zigzag, mask)) steps += step.pairs;
    double most = 0, all = 0;
    for (int rank = 0; rank < cp; ++rank) {
      const double one = of_rank(rank, cp, sequence, zigzag, mask);
      most = std::max(most, one);
      all += one;
    }
    EXPECT_DOUBLE_EQ(steps, most) << n;
    EXPECT_DOUBLE_EQ(all, plan::attended_pairs({0, sequence}, {0, sequence}, mask)) << n;
  }
}

TEST(RingSteps, OfDocumentsAreThoseOfOneAsOftenAsThereAreDocuments) {
  // s = 64 over 4 ranks, documents of 16: each rank has 4 tokens of each of the four, 4 x 4 / 2 pairs of these a step.
  const std::vector<RingStep> steps = plan::ring_steps_in_documents(4, 64, true, {}, 16);
  ASSERT_EQ(steps.size(), 4u);
  EXPECT_EQ(steps[0].queries, 16);
  EXPECT_EQ(steps[1].keys, 8);
  for (const RingStep& step : steps) EXPECT_EQ(step.pairs, 4 * 8);
  // One of 10 is padded to 2 chunks of 2 on each rank, one of 0 is the sequence.
  EXPECT_EQ(plan::document_share(4, 10, true), 4);
  EXPECT_EQ(plan::document_share(4, 10, false), 3);
  EXPECT_EQ(plan::ring_steps_in_documents(4, 64, true, {}, 10)[0].pairs, 4 * 8);
  EXPECT_EQ(plan::ring_steps_in_documents(4, 64, true, {}, 0)[0].pairs, 128);
}

TEST(RingSteps, OfAMillionTokensKeepEveryPair) {
  double sum = 0;
  for (const RingStep& step : plan::ring_steps(16, 1'048'576, true, {})) sum += step.pairs;
  EXPECT_DOUBLE_EQ(sum * 16, 1'048'576.0 * 1'048'576.0 / 2);
}

}  // namespace
