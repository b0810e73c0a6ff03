// tests/kernels/dropout_test.cpp -- kernels/dropout.h and kernels/philox.h. SPDX-License-Identifier: Apache-2.0
#include "kernels/dropout.h"

#include <algorithm>

#include "tests/kernels/gradients.h"

namespace {

using test::Values;

TEST(Philox, GivesTheWordsOfItsAuthorsKnownAnswers) {
  // Random123's file of known answers, philox 4x32 with 10 rounds, counter and key 0.
  const kernels::Four zero = kernels::philox(0, 0);
  EXPECT_EQ(zero.word[0], 0x6627e8d5u);
  EXPECT_EQ(zero.word[1], 0xe169c58du);
  EXPECT_EQ(zero.word[2], 0xbc57ac4cu);
  EXPECT_EQ(zero.word[3], 0x9b00dbd8u);
}

TEST(DropoutKernel, DropsTheShareAskedForAndKeepsTheMean) {
  // 100,000 draws at p = 0.3: 30,000 with a standard deviation of sqrt(n p (1 - p)) = 145; 5 of them allowed.
  const Values ones(100000, 1.0);
  Values y(ones.size());
  kernels::reference::dropout({0.3, 7}, ones, y);
  const auto dropped = std::count(y.begin(), y.end(), 0.0);
  EXPECT_NEAR(static_cast<double>(dropped), 30000, 5 * 145);
  for (double value : y) EXPECT_TRUE(value == 0 || value == 1 / 0.7);
}

TEST(DropoutKernel, AShardWithItsOffsetHasTheWholeTensorsMask) {
  const Values x = test::random_values(50, 1);
  Values whole(50), shard(37);
  kernels::reference::dropout({0.5, 9, 100}, x, whole);
  kernels::reference::dropout({0.5, 9, 113}, std::span(x).subspan(13), shard);
  for (int i = 0; i < 37; ++i) EXPECT_EQ(shard[i], whole[13 + i]);
}

TEST(DropoutKernel, AnotherSeedIsAnotherMaskAndProbabilityZeroDropsNothing) {
  const Values ones(1000, 1.0);
  Values a(1000), b(1000);
  kernels::reference::dropout({0.5, 1}, ones, a);
  kernels::reference::dropout({0.5, 2}, ones, b);
  EXPECT_NE(a, b);
  kernels::reference::dropout({0, 1}, ones, a);
  EXPECT_EQ(a, ones);
}

TEST(DropoutKernel, IsItsOwnGradient) {
  const kernels::Dropout shape{0.4, 3, 5};
  const Values x = test::random_values(40, 1), dy = test::random_values(40, 2);
  Values dx(40);
  kernels::reference::dropout(shape, dy, dx);
  test::expect_gradient(x, dx, [&](const Values& values) {
    Values y(40);
    kernels::reference::dropout(shape, values, y);
    return test::dot(y, dy);
  });
}

}  // namespace
