// tests/kernels/optimizer_test.cpp -- kernels/adamw.h, sgd.h, gradient_norm.h and convert.h.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/adamw.h"
#include "kernels/convert.h"
#include "kernels/gradient_norm.h"
#include "kernels/sgd.h"
#include "tests/kernels/gradients.h"

namespace {

using test::Values;
namespace reference = kernels::reference;

TEST(AdamWKernel, TheFirstStepIsTheLearningRateWhateverTheGradient) {
  // Corrected for their start, m = g and v = g^2, so the update is the sign of g; decay takes 0.1 x 0.5 x 2 of a weight
  // of 2.
  Values master{2, 2}, m(2), v(2);
  reference::adamw({0.1, 0.9, 0.999, 0, 0.5, 1}, 1, Values{3, -0.01}, master, m, v);
  EXPECT_NEAR(master[0], 2 - 0.1 - 0.1, 1e-15);
  EXPECT_NEAR(master[1], 2 + 0.1 - 0.1, 1e-15);
  EXPECT_NEAR(m[0], 0.3, 1e-15);
  EXPECT_NEAR(v[0], 0.009, 1e-15);
}

TEST(AdamWKernel, TheSecondStepRemembersTheFirst) {
  // g = 1 twice with betas 0.5: m = 0.75, v = 0.75, both corrected by 1 - 0.25: the update is 1 again. Then g = -1 in
  // the third: m = 0.375 - 0.5 = -0.125, v = 0.875, corrected by 0.875: -1/7 over 1.
  Values master{0}, m(1), v(1);
  for (int step : {1, 2}) reference::adamw({1, 0.5, 0.5, 0, 0, step}, 1, Values{1}, master, m, v);
  EXPECT_NEAR(master[0], -2, 1e-15);
  reference::adamw({1, 0.5, 0.5, 0, 0, 3}, 1, Values{-1}, master, m, v);
  EXPECT_NEAR(master[0], -2 + 1.0 / 7, 1e-15);
}

TEST(AdamWKernel, TheFactorScalesTheGradient) {
  Values a{1}, b{1}, am(1), bm(1), av(1), bv(1);
  reference::adamw({}, 0.25, Values{8}, a, am, av);
  reference::adamw({}, 1, Values{2}, b, bm, bv);
  EXPECT_EQ(am, bm);
  EXPECT_EQ(av, bv);
}

TEST(SgdKernel, MomentumIsASumOfGradientsThatFade) {
  // Gradients 4 and 2, halved by the factor, with momentum 0.5: m = 2, then 1 + 1 = 2. Decay adds 0.1 w to each:
  // m = 2 + 0.1 = 2.1, w = 1 - 0.21 = 0.79; m = 1.05 + 1 + 0.079 = 2.129, w = 0.79 - 0.2129.
  const kernels::Sgd shape{0.1, 0.5, 0.1};
  Values master{1}, m{0};
  reference::sgd(shape, 0.5, Values{4}, master, m);
  EXPECT_NEAR(m[0], 2.1, 1e-15);
  EXPECT_NEAR(master[0], 0.79, 1e-15);
  reference::sgd(shape, 0.5, Values{2}, master, m);
  EXPECT_NEAR(m[0], 2.129, 1e-15);
  EXPECT_NEAR(master[0], 0.5771, 1e-15);
}

TEST(ClipKernel, ScalesDownToTheLargestNormAndNeverUp) {
  EXPECT_EQ(reference::squared_norm(Values{3, -4}), 25);
  EXPECT_EQ(reference::clip_factor(25, 1), 0.2);
  EXPECT_EQ(reference::clip_factor(25, 5), 1);
  EXPECT_EQ(reference::clip_factor(25, 10), 1);
  EXPECT_EQ(reference::clip_factor(0, 1), 1);
}

TEST(ConvertKernel, BetaZeroDoesNotReadWhatItWrites) {
  Values y{std::nan(""), 1};
  reference::scale_add(2, Values{3, 4}, 0, y);
  EXPECT_EQ(y, (Values{6, 8}));
  reference::scale_add(1, Values{1, 1}, 0.5, y);
  EXPECT_EQ(y, (Values{4, 5}));
}

}  // namespace
