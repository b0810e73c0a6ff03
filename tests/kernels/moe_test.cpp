// tests/kernels/moe_test.cpp -- kernels/router.h and kernels/permute.h. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "kernels/capacity.h"
#include "kernels/permute.h"
#include "kernels/router.h"
#include "tests/kernels/gradients.h"

namespace {

using test::Values;
using Ids = std::vector<std::int32_t>;
namespace reference = kernels::reference;

TEST(RouterKernel, ChoosesTheLargestAndSharesTheirProbability) {
  // exp: 1, 3, 2, 2 of 8. The best two are experts 1 and, of two equals, 2: weights 3/5 and 2/5.
  const Values logits{0, std::log(3), std::log(2), std::log(2)};
  Values probabilities(4), weights(2);
  Ids experts(2);
  reference::router_forward({1, 4, 2}, logits, probabilities, experts, weights);
  EXPECT_LT(test::distance(probabilities, Values{0.125, 0.375, 0.25, 0.25}), 1e-15);
  EXPECT_EQ(experts, (Ids{1, 2}));
  EXPECT_LT(test::distance(weights, Values{0.6, 0.4}), 1e-15);
}

TEST(RouterKernel, LogitsThatAreNoNumbersChooseTheFirstExpertsAndWeighNoNumber) {
  Values probabilities(4), weights(2);
  Ids experts(2);
  reference::router_forward({1, 4, 2}, Values{0, 1, NAN, 2}, probabilities, experts, weights);
  EXPECT_EQ(experts, (Ids{0, 1}));
  EXPECT_TRUE(std::isnan(weights[0]) && std::isnan(weights[1]));
}

TEST(RouterKernel, EvenProbabilitiesLoseTheCoefficientWhateverTheCounts) {
  // P_e = 1/4, and the f_e add up to 1: 4 x 1/4 x 0.01.
  const Values even(8, 0.25);
  EXPECT_NEAR(reference::router_auxiliary_loss({2, 4, 1, 0.01}, even, Ids{2, 0, 0, 0}), 0.01, 1e-15);
}

TEST(RouterKernel, BackwardIsTheGradientOfWeightsAndBalance) {
  const kernels::Router shape{5, 6, 3, 0.7};
  const Values logits = test::random_values(30, 1), dweights = test::random_values(15, 2);
  Values probabilities(30), weights(15), dlogits(30);
  Ids experts(15), counts(6), chosen(15);
  reference::router_forward(shape, logits, probabilities, experts, weights);
  for (int e : experts) ++counts[e];
  reference::router_backward(shape, probabilities, experts, counts, dweights, 1.5, dlogits);
  test::expect_gradient(logits, dlogits, [&](const Values& values) {
    reference::router_forward(shape, values, probabilities, chosen, weights);
    EXPECT_EQ(chosen, experts);  // a step so small changes no choice
    return test::dot(weights, dweights) + 1.5 * reference::router_auxiliary_loss(shape, probabilities, counts);
  });
}

class PermuteKernel : public testing::Test {
 protected:
  kernels::Permute shape_{3, 2, 4, 5};
  Ids experts_{2, 0, 0, 3, 2, 3}, counts_ = Ids(4, -1), rows_ = Ids(6, -1);
  Values x_ = test::random_values(15, 1), weights_ = test::random_values(6, 2), sorted_ = test::random_values(30, 3);
  void SetUp() override { reference::permute_plan(shape_, experts_, counts_, rows_); }
};

TEST_F(PermuteKernel, OrdersByExpertThenByToken) {
  // Expert 0 has tokens 0 and 1, expert 2 tokens 0 and 2, expert 3 tokens 1 and 2.
  EXPECT_EQ(counts_, (Ids{2, 0, 2, 2}));
  EXPECT_EQ(rows_, (Ids{2, 0, 1, 4, 3, 5}));
  Values sorted(30);
  reference::permute_forward(shape_, rows_, x_, sorted);
  const Ids tokens{0, 1, 0, 2, 1, 2};
  for (int row = 0; row < 6; ++row) EXPECT_EQ(sorted[row * 5 + 4], x_[tokens[row] * 5 + 4]);
}

TEST_F(PermuteKernel, BackwardIsTheGradient) {
  Values dx(15, -1);
  reference::permute_backward(shape_, rows_, sorted_, dx);
  test::expect_gradient(x_, dx, [&](const Values& x) {
    Values sorted(30);
    reference::permute_forward(shape_, rows_, x, sorted);
    return test::dot(sorted, sorted_);
  });
}

TEST_F(PermuteKernel, UnpermuteWithEvenWeightsGivesTheTokensBack) {
  Values sorted(30), y(15, -1);
  reference::permute_forward(shape_, rows_, x_, sorted);
  reference::unpermute_forward(shape_, rows_, Values(6, 0.5), sorted, y);
  EXPECT_LT(test::distance(y, x_), 1e-15);
}

TEST_F(PermuteKernel, UnpermutesBackwardIsTheGradient) {
  const Values dy = test::random_values(15, 4);
  Values dsorted(30), dweights(6);
  reference::unpermute_backward(shape_, rows_, weights_, sorted_, dy, dsorted, dweights);
  const auto loss = [&](const Values& sorted, const Values& weights) {
    Values y(15);
    reference::unpermute_forward(shape_, rows_, weights, sorted, y);
    return test::dot(y, dy);
  };
  test::expect_gradient(sorted_, dsorted, [&](const Values& sorted) { return loss(sorted, weights_); });
  test::expect_gradient(weights_, dweights, [&](const Values& weights) { return loss(sorted_, weights); });
}

TEST_F(PermuteKernel, AnExpertKeepsItsLargestWeightsAndOfEqualOnesTheFirst) {
  // Expert 0 is chosen with 0.6, 0.7 and 0.6, expert 1 with 0.4: of two rows the second 0.6 gets none.
  const kernels::Permute shape{.tokens = 4, .top_k = 1, .experts = 2, .width = 1, .capacity = 2};
  Ids kept(4);
  reference::drop_choices(shape, Ids{0, 0, 1, 0}, Values{0.6, 0.7, 0.4, 0.6}, kept);
  EXPECT_EQ(kept, (Ids{0, 0, 1, -1}));
  // Two rows for each, whether taken or not.
  Ids counts(2), rows(4);
  reference::permute_plan(shape, kept, counts, rows);
  EXPECT_EQ(counts, (Ids{2, 1}));
  EXPECT_EQ(rows, (Ids{0, 1, 2, -1}));
}

TEST_F(PermuteKernel, OnlyExpertsThatAreHeldHaveRows) {
  // As in the first test, but experts 2 and 3 alone: tokens 0 and 2, then 1 and 2.
  shape_.first = shape_.held = 2;
  reference::permute_plan(shape_, experts_, counts_, rows_);
  EXPECT_EQ(rows_, (Ids{0, -1, -1, 2, 1, 3}));
  Values dx(15), dsorted(20), dweights(6);
  const Values value = test::random_values(20, 5);
  reference::permute_backward(shape_, rows_, value, dx);
  test::expect_gradient(x_, dx, [&](const Values& x) {
    Values sorted(20);
    reference::permute_forward(shape_, rows_, x, sorted);
    return test::dot(sorted, value);
  });
  const Values dy = test::random_values(15, 4);
  reference::unpermute_backward(shape_, rows_, weights_, value, dy, dsorted, dweights);
  test::expect_gradient(weights_, dweights, [&](const Values& weights) {
    Values y(15);
    reference::unpermute_forward(shape_, rows_, weights, value, y);
    return test::dot(y, dy);
  });
}

// Four choices of expert 0, room for two: what is no number goes first, so there are two all the same.
TEST(CapacityKernel, HoldsWhereWeightsAreNoNumbers) {
  kernels::Permute shape{4, 1, 1, 1};
  shape.capacity = 2;
  Ids kept(4);
  reference::drop_choices(shape, Ids{0, 0, 0, 0}, Values{0.5, NAN, 0.9, NAN}, kept);
  EXPECT_EQ(kept, (Ids{-1, 0, -1, 0}));
  reference::drop_choices(shape, Ids{0, 0, 0, 0}, Values{0.5, 0.2, 0.9, NAN}, kept);
  EXPECT_EQ(kept, (Ids{-1, -1, 0, 0}));
}

}  // namespace
