// tests/kernels/norm_test.cpp -- kernels/norm.h. SPDX-License-Identifier: Apache-2.0
#include "kernels/norm.h"

#include "tests/kernels/gradients.h"

namespace {

using kernels::Norm;
using kernels::NormKind;
using test::Values;

TEST(NormKernel, RmsOfThreeAndFourIsTheRootOfTwelveAndAHalf) {
  // (9 + 16) / 2 = 12.5; weight 2 doubles.
  const Values x{3, 4}, weight{1, 2};
  Values y(2), rstd(1);
  kernels::reference::norm_forward({NormKind::rms, 1, 2, 0}, x, {}, weight, {}, {}, y, {}, rstd);
  EXPECT_NEAR(rstd[0], 1 / std::sqrt(12.5), 1e-15);
  EXPECT_NEAR(y[0], 3 / std::sqrt(12.5), 1e-15);
  EXPECT_NEAR(y[1], 8 / std::sqrt(12.5), 1e-15);
}

TEST(NormKernel, LayerNormTakesTheMeanAwayAndAddsTheResidualFirst) {
  // 1 + 2 and 3 + 4 are 3 and 7: mean 5, deviation 2, so -1 and 1, and the bias on top.
  const Values x{1, 3}, residual{2, 4}, weight{1, 1}, bias{10, 20};
  Values sum(2), y(2), mean(1), rstd(1);
  kernels::reference::norm_forward({NormKind::layer, 1, 2, 0}, x, residual, weight, bias, sum, y, mean, rstd);
  EXPECT_EQ(sum, (Values{3, 7}));
  EXPECT_EQ(y, (Values{9, 21}));
  EXPECT_EQ(mean[0], 5);
}

class NormGradient : public testing::TestWithParam<NormKind> {
 protected:
  Norm norm_{GetParam(), 3, 7, 1e-5};
  Values x_ = test::random_values(21, 1), residual_ = test::random_values(21, 2), weight_ = test::random_values(7, 3);
  Values bias_ = test::random_values(7, 4), dy_ = test::random_values(21, 5), dsum_ = test::random_values(21, 6);
  Values sum_ = Values(21), y_ = Values(21), mean_ = Values(3), rstd_ = Values(3);

  double loss(const Values& x, const Values& weight, const Values& bias) {
    kernels::reference::norm_forward(norm_, x, residual_, weight, bias, sum_, y_, mean_, rstd_);
    return test::dot(y_, dy_) + test::dot(sum_, dsum_);
  }
};

TEST_P(NormGradient, IsThatOfTheForwardAndAddsToTheWeights) {
  loss(x_, weight_, bias_);
  Values dx(21), dweight(7, 1.0), dbias(7, 2.0);
  kernels::reference::norm_backward(norm_, sum_, weight_, mean_, rstd_, dy_, dsum_, dx, dweight, dbias);
  for (int i = 0; i < 7; ++i) dweight[i] -= 1, dbias[i] -= 2;
  test::expect_gradient(x_, dx, [&](const Values& x) { return loss(x, weight_, bias_); });
  test::expect_gradient(weight_, dweight, [&](const Values& w) { return loss(x_, w, bias_); });
  test::expect_gradient(bias_, dbias, [&](const Values& b) { return loss(x_, weight_, b); });
}

INSTANTIATE_TEST_SUITE_P(Kinds, NormGradient, testing::Values(NormKind::rms, NormKind::layer));

}  // namespace
