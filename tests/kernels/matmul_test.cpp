// tests/kernels/matmul_test.cpp -- kernels/matmul.h. SPDX-License-Identifier: Apache-2.0
#include "kernels/matmul.h"

#include "tests/kernels/gradients.h"

namespace {

using kernels::Matmul;
using test::Values;

/// One element at a time, from the definition.
Values by_definition(const Matmul& p, const Values& a, const Values& b, const Values& c) {
  Values result(c.size());
  for (std::int64_t i = 0; i < p.m; ++i) {
    for (std::int64_t j = 0; j < p.n; ++j) {
      double sum = 0;
      for (std::int64_t l = 0; l < p.k; ++l) {
        sum += a[p.transpose_a ? l * p.m + i : i * p.k + l] * b[p.transpose_b ? j * p.k + l : l * p.n + j];
      }
      result[i * p.n + j] = p.alpha * sum + p.beta * c[i * p.n + j];
    }
  }
  return result;
}

TEST(MatmulKernel, EveryTransposeAndAccumulationIsTheDefinition) {
  const Values a = test::random_values(15, 1), b = test::random_values(20, 2), c = test::random_values(12, 3);
  for (int bits = 0; bits < 8; ++bits) {
    const Matmul shape{3, 4, 5, (bits & 1) != 0, (bits & 2) != 0, 0.5, bits & 4 ? 1.5 : 0};
    Values got = c;
    kernels::reference::matmul(shape, a, b, got);
    EXPECT_LT(test::distance(got, by_definition(shape, a, b, c)), 1e-15) << bits;
  }
}

TEST(MatmulKernel, DgradAndWgradAreTheGradientsOfALinearLayer) {
  constexpr std::int64_t kTokens = 3, kIn = 4, kOut = 5;
  const Values x = test::random_values(kTokens * kIn, 1), w = test::random_values(kOut * kIn, 2);
  const Values dy = test::random_values(kTokens * kOut, 3);
  const auto loss = [&](const Values& input, const Values& weights) {
    Values y(kTokens * kOut);
    kernels::reference::matmul({kTokens, kOut, kIn, false, true}, input, weights, y);
    return test::dot(y, dy);
  };
  Values dx(x.size()), dw(w.size());
  kernels::reference::matmul({kTokens, kIn, kOut, false, false}, dy, w, dx);
  kernels::reference::matmul({kOut, kIn, kTokens, true, false, 1, 1}, dy, x, dw);
  test::expect_gradient(x, dx, [&](const Values& input) { return loss(input, w); });
  test::expect_gradient(w, dw, [&](const Values& weights) { return loss(x, weights); });
}

}  // namespace
