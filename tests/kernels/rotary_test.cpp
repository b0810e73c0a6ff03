// tests/kernels/rotary_test.cpp -- kernels/rotary.h. SPDX-License-Identifier: Apache-2.0
#include "kernels/rotary.h"

#include "tests/kernels/gradients.h"

namespace {

using kernels::Direction;
using kernels::Rotary;
using test::Values;

const std::vector<std::int32_t> kPositions{0, 5, 2};

TEST(RotaryKernel, TurnsByThePositionTimesTheFrequencyOfThePair) {
  // base 100, 4 dimensions: frequencies 1 and 100^(-1/2) = 0.1. At position 5 pairs (0, 2) and (1, 3) turn by 5 and
  // 0.5.
  Values head{1, 1, 0, 0};
  const std::vector<std::int32_t> five{5};
  kernels::reference::rotary({1, 1, 4, 4, 4, 100}, Direction::forward, five, head, head);
  const Values expected{std::cos(5), std::cos(0.5), std::sin(5), std::sin(0.5)};
  EXPECT_LT(test::distance(head, expected), 1e-15);
}

TEST(RotaryKernel, AnInterleavedPairLiesSideBySide) {
  Values head{1, 0, 1, 0};
  const std::vector<std::int32_t> five{5};
  kernels::reference::rotary({1, 1, 4, 4, 4, 100, true}, Direction::forward, five, head, head);
  EXPECT_LT(test::distance(head, Values{std::cos(5), std::sin(5), std::cos(0.5), std::sin(0.5)}), 1e-15);
}

TEST(RotaryKernel, LeavesTheRestOfAHeadAndOfAPackedRowAlone) {
  // 3 tokens of 12 elements, of which 2 heads of 5 are turned, 4 elements each.
  const Values before = test::random_values(36, 1);
  Values after(36, 7);
  kernels::reference::rotary({3, 2, 5, 4, 12}, Direction::forward, kPositions, before, after);
  for (int token = 0; token < 3; ++token) {
    for (int i : {4, 9, 10, 11}) EXPECT_EQ(after[12 * token + i], before[12 * token + i]);
  }
  EXPECT_NE(after[12], before[12]);
  EXPECT_EQ(after[0], before[0]);  // position 0 turns by nothing
}

TEST(RotaryKernel, TurnsFromTheFirstElementThatItIsTold) {
  // Of 6 elements the last 4, as latent attention has them: what 4 alone are turned to.
  const Values before = test::random_values(6, 1);
  Values after(6, 7), last(before.begin() + 2, before.end());
  const std::vector<std::int32_t> five{5};
  kernels::Rotary shape{1, 1, 6, 4, 6};
  shape.first = 2;
  kernels::reference::rotary(shape, Direction::forward, five, before, after);
  kernels::reference::rotary({1, 1, 4, 4, 4}, Direction::forward, five, last, last);
  EXPECT_EQ(after, (Values{before[0], before[1], last[0], last[1], last[2], last[3]}));
}

TEST(RotaryKernel, ScalesWhatItTurnsAndNothingElse) {
  // Base 100, one pair of 3 elements: at position 5 it turns by 5 and grows by a half.
  Values head{1, 0, 7};
  const std::vector<std::int32_t> five{5};
  Rotary shape{1, 1, 3, 2, 3, 100};
  shape.scale = 1.5;
  kernels::reference::rotary(shape, Direction::forward, five, head, head);
  EXPECT_LT(test::distance(head, Values{1.5 * std::cos(5), 1.5 * std::sin(5), 7}), 1e-15);
}

TEST(RotaryKernel, BackwardIsTheGradient) {
  for (bool interleaved : {false, true}) {
    Rotary shape{3, 2, 6, 4, 12, 10000, interleaved};
    shape.scale = interleaved ? 1 : 1.3;
    const Values x = test::random_values(36, 1), dy = test::random_values(36, 2);
    Values dx(36);
    kernels::reference::rotary(shape, Direction::backward, kPositions, dy, dx);
    test::expect_gradient(x, dx, [&](Values values) {
      kernels::reference::rotary(shape, Direction::forward, kPositions, values, values);
      return test::dot(values, dy);
    });
  }
}

}  // namespace
