// tests/kernels/grouped_matmul_test.cpp -- kernels/grouped_matmul.h. SPDX-License-Identifier: Apache-2.0
#include "kernels/grouped_matmul.h"

#include <numeric>

#include "tests/kernels/gradients.h"

namespace {

using kernels::GroupedMatmul;
using test::Values;
using Pass = GroupedMatmul::Pass;

constexpr std::int64_t kIn = 3, kOut = 2;

GroupedMatmul shape(Pass pass, std::vector<std::int64_t> rows, bool adds = false) {
  return {pass, kIn, kOut, rows, adds};
}

/// One number at a time: which expert a row belongs to decides whose weights it meets.
struct ByDefinition {
  std::vector<std::int64_t> expert;  // of each row
  explicit ByDefinition(const GroupedMatmul& g) {
    for (std::size_t e = 0; e < g.rows.size(); ++e) expert.insert(expert.end(), g.rows[e], static_cast<int>(e));
  }
  double weight(const Values& w, std::size_t row, std::int64_t o, std::int64_t i) const {
    return w[(expert[row] * kOut + o) * kIn + i];
  }
  Values forward(const Values& x, const Values& w) const {
    Values y(expert.size() * kOut);
    for (std::size_t row = 0; row < expert.size(); ++row) {
      for (std::int64_t o = 0; o < kOut; ++o) {
        for (std::int64_t i = 0; i < kIn; ++i) y[row * kOut + o] += weight(w, row, o, i) * x[row * kIn + i];
      }
    }
    return y;
  }
};

TEST(GroupedMatmul, EachRowMeetsItsOwnExpertAndSomeExpertsHaveNone) {
  const GroupedMatmul g = shape(Pass::forward, {2, 0, 4, 1, 0});
  const Values x = test::random_values(7 * kIn, 1), w = test::random_values(5 * kOut * kIn, 2);
  Values y(7 * kOut);
  kernels::reference::grouped_matmul(g, x, w, y);
  EXPECT_LT(test::distance(y, ByDefinition(g).forward(x, w)), 1e-15);
}

TEST(GroupedMatmul, ItsGradientsAreThoseOfItsForward) {
  const std::vector<std::int64_t> rows{2, 0, 4, 1};
  const Values x = test::random_values(7 * kIn, 1), w = test::random_values(4 * kOut * kIn, 2);
  const Values dy = test::random_values(7 * kOut, 3);
  const auto loss = [&](const Values& input, const Values& weights) {
    Values y(dy.size());
    kernels::reference::grouped_matmul(shape(Pass::forward, rows), input, weights, y);
    return test::dot(y, dy);
  };
  Values dx(x.size()), dw(w.size(), 7);  // what was there is written over, without rows as well
  kernels::reference::grouped_matmul(shape(Pass::input_gradient, rows), dy, w, dx);
  kernels::reference::grouped_matmul(shape(Pass::weight_gradient, rows), dy, x, dw);
  test::expect_gradient(x, dx, [&](const Values& input) { return loss(input, w); });
  test::expect_gradient(w, dw, [&](const Values& weights) { return loss(x, weights); });
}

TEST(GroupedMatmul, AWeightGradientAddsToWhatIsThere) {
  const Values x = test::random_values(3 * kIn, 1), dy = test::random_values(3 * kOut, 2);
  Values alone(2 * kOut * kIn), added(2 * kOut * kIn, 7);
  kernels::reference::grouped_matmul(shape(Pass::weight_gradient, {0, 3}), dy, x, alone);
  kernels::reference::grouped_matmul(shape(Pass::weight_gradient, {0, 3}, true), dy, x, added);
  for (double& value : added) value -= 7;
  EXPECT_LT(test::distance(added, alone), 1e-14);
}

TEST(GroupedMatmul, LeavesOutWhoHasNothingToDo) {
  EXPECT_EQ(kernels::of_experts(shape(Pass::forward, {2, 0, 4})).size(), 2u);
  EXPECT_EQ(kernels::of_experts(shape(Pass::input_gradient, {0, 0})).size(), 0u);
  EXPECT_EQ(kernels::of_experts(shape(Pass::weight_gradient, {2, 0, 4}, true)).size(), 2u);
  EXPECT_EQ(kernels::of_experts(shape(Pass::weight_gradient, {2, 0, 4})).size(), 3u);  // zeros are something to do
}

}  // namespace
