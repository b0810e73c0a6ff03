// tests/kernels/cross_entropy_test.cpp -- kernels/cross_entropy.h. SPDX-License-Identifier: Apache-2.0
#include "kernels/cross_entropy.h"

#include "tests/kernels/gradients.h"

namespace {

using kernels::CrossEntropy;
using test::Values;
namespace reference = kernels::reference;

const std::vector<std::int32_t> kTargets{4, -1, 0};

TEST(CrossEntropyKernel, OfEvenLogitsIsTheLogOfTheVocabulary) {
  // p = 1/4 each: loss ln 4, gradient 1/4 and -3/4 at the target, times the scale of 2.
  Values logits(4, 7.0), loss(1);
  const std::vector<std::int32_t> second{1};
  reference::cross_entropy({1, 4, 0, 2}, second, logits, loss);
  EXPECT_NEAR(loss[0], std::log(4), 1e-15);
  EXPECT_EQ(logits, (Values{0.5, -1.5, 0.5, 0.5}));
}

TEST(CrossEntropyKernel, GradientIsThatOfTheSumOfLossesWithoutIgnoredRows) {
  const Values logits = test::random_values(15, 1, 3);
  Values gradient = logits, loss(3);
  reference::cross_entropy({3, 5}, kTargets, gradient, loss);
  EXPECT_EQ(loss[1], 0);
  test::expect_gradient(logits, gradient, [&](Values values) {
    reference::cross_entropy({3, 5}, kTargets, values, loss);
    return loss[0] + loss[1] + loss[2];
  });
}

TEST(CrossEntropyKernel, TwoRanksThatExchangeMaximaAndSumsGetTheWhole) {
  const Values logits = test::random_values(15, 1, 3);
  Values whole = logits, whole_loss(3);
  reference::cross_entropy({3, 5, 0, 0.5}, kTargets, whole, whole_loss);

  const CrossEntropy part[2] = {{3, 2, 0, 0.5}, {3, 3, 2, 0.5}};  // ids 0 and 1; 2, 3 and 4
  Values mine[2], maximum(3, -1e30), total(3), target_logit(3), loss(3);
  for (int rank : {0, 1}) {
    for (int row = 0; row < 3; ++row) {
      const auto begin = logits.begin() + row * 5 + part[rank].first;
      mine[rank].insert(mine[rank].end(), begin, begin + part[rank].vocabulary);
    }
    Values local(3);
    reference::cross_entropy_maximum(part[rank], mine[rank], local);
    for (int row = 0; row < 3; ++row) maximum[row] = std::max(maximum[row], local[row]);
  }
  for (int rank : {0, 1}) {
    Values local_total(3), local_logit(3);
    reference::cross_entropy_sums(part[rank], kTargets, mine[rank], maximum, local_total, local_logit);
    for (int row = 0; row < 3; ++row) total[row] += local_total[row], target_logit[row] += local_logit[row];
  }
  reference::cross_entropy_loss(kTargets, maximum, total, target_logit, loss);
  EXPECT_LT(test::distance(loss, whole_loss), 1e-14);
  for (int rank : {0, 1}) {
    reference::cross_entropy_gradient(part[rank], kTargets, maximum, total, mine[rank]);
    for (int row = 0; row < 3; ++row) {
      for (int i = 0; i < part[rank].vocabulary; ++i) {
        const double got = mine[rank][row * part[rank].vocabulary + i];
        EXPECT_NEAR(got, whole[row * 5 + part[rank].first + i], 1e-14);
      }
    }
  }
}

}  // namespace
