// tests/kernels/joined_loss_test.cpp -- kernels/joined_loss.h: parts of a vocabulary that went on with statistics of
// their own, against the whole. SPDX-License-Identifier: Apache-2.0
#include "kernels/joined_loss.h"

#include "kernels/cross_entropy.h"
#include "tests/kernels/gradients.h"

namespace {

using test::Values;
namespace reference = kernels::reference;

constexpr int kRows = 3, kWidth = 4, kVocabulary = 5;
const std::vector<std::int32_t> kTargets{4, -1, 0};

/// logits [rows, vocabulary] = states W^T of rows first .. first + count of W.
Values logits_of(const Values& states, const Values& weights, int first, int count) {
  Values out;
  for (int row = 0; row < kRows; ++row) {
    for (int v = first; v < first + count; ++v) {
      double sum = 0;
      for (int i = 0; i < kWidth; ++i) sum += states[row * kWidth + i] * weights[v * kWidth + i];
      out.push_back(sum);
    }
  }
  return out;
}

TEST(JoinedLossKernel, ATotalBelowAHigherMaximumIsSmallerByTheirDistance) {
  // exp(1 - 1) + exp(0 - 1) below 1; below 3 it is that times exp(-2).
  Values total{1 + std::exp(-1)};
  reference::rescale_total(Values{1}, Values{3}, total);
  EXPECT_NEAR(total[0], std::exp(-2) + std::exp(-3), 1e-15);
}

TEST(JoinedLossKernel, SharesOfTwoPartsAddUpToTheGradientOfTheStates) {
  // Ids 0 and 1 on one rank, 2, 3 and 4 on the other; the sum of their shares is the central difference of the loss.
  const Values states = test::random_values(kRows * kWidth, 1, 3),
               weights = test::random_values(kVocabulary * kWidth, 1, 4);
  const double scale = 0.5;
  const int first[2] = {0, 2}, count[2] = {2, 3};
  Values own_maximum[2], own_total[2], product[2], target_rows[2];
  for (const int rank : {0, 1}) {
    const kernels::CrossEntropy part{kRows, count[rank], first[rank], 1};
    const Values logits = logits_of(states, weights, first[rank], count[rank]);
    own_maximum[rank].resize(kRows);
    own_total[rank].resize(kRows);
    Values target_logit(kRows);
    reference::cross_entropy_maximum(part, logits, own_maximum[rank]);
    reference::cross_entropy_sums(part, kTargets, logits, own_maximum[rank], own_total[rank], target_logit);
    product[rank].assign(kRows * kWidth, 0);
    target_rows[rank].assign(kRows * kWidth, 0);
    for (int row = 0; row < kRows; ++row) {
      for (int v = 0; v < count[rank]; ++v) {
        const double p = std::exp(logits[row * count[rank] + v] - own_maximum[rank][row]) / own_total[rank][row];
        for (int i = 0; i < kWidth; ++i) {
          const double w = weights[(first[rank] + v) * kWidth + i];
          product[rank][row * kWidth + i] += p * w;
          if (kTargets[row] == first[rank] + v) target_rows[rank][row * kWidth + i] = w;
        }
      }
    }
  }
  Values maximum(kRows), total(kRows, 0);
  for (int row = 0; row < kRows; ++row) maximum[row] = std::max(own_maximum[0][row], own_maximum[1][row]);
  for (const int rank : {0, 1}) {
    Values rescaled = own_total[rank];
    reference::rescale_total(own_maximum[rank], maximum, rescaled);
    for (int row = 0; row < kRows; ++row) total[row] += rescaled[row];
  }
  Values gradient(kRows * kWidth, 0);
  for (const int rank : {0, 1}) {
    reference::join_states({kRows, kWidth, scale}, kTargets, own_maximum[rank], own_total[rank], maximum, total,
                           target_rows[rank], product[rank]);
    for (int i = 0; i < kRows * kWidth; ++i) gradient[i] += product[rank][i];
  }
  test::expect_gradient(states, gradient, [&](const Values& values) {
    Values logits = logits_of(values, weights, 0, kVocabulary), loss(kRows);
    reference::cross_entropy({kRows, kVocabulary}, kTargets, logits, loss);
    return scale * (loss[0] + loss[1] + loss[2]);
  });
}

}  // namespace
