// tests/kernels/activation_test.cpp -- kernels/gelu.h, glu.h and relu.h. SPDX-License-Identifier: Apache-2.0
#include "kernels/gelu.h"
#include "kernels/glu.h"
#include "kernels/relu.h"
#include "tests/kernels/gradients.h"

namespace {

using kernels::Gate;
using kernels::Gelu;
using kernels::Relu;
using test::Values;

TEST(GluKernel, OfSiluIsTheGateTimesItsSigmoidTimesUp) {
  // silu(0) = 0; silu(ln 3) = ln 3 / (1 + 1 / 3) = 0.75 ln 3.
  const Values gate_up{0, std::log(3), 5, 4};
  Values y(2);
  kernels::reference::glu_forward({1, 2}, gate_up, y);
  EXPECT_EQ(y[0], 0);
  EXPECT_NEAR(y[1], 3 * std::log(3), 1e-15);
}

TEST(GluKernel, OfGeluIsTheGatesGeluTimesUp) {
  // By the approximation gelu(1) = 0.8411919906082768 (see below), gelu(0) = 0.
  const Values gate_up{0, 1, 5, 4};
  Values y(2);
  kernels::reference::glu_forward({1, 2, Gate::gelu}, gate_up, y);
  EXPECT_EQ(y[0], 0);
  EXPECT_NEAR(y[1], 4 * 0.8411919906082768, 1e-14);
}

TEST(GluKernel, ClampedKeepsBothHalvesWithinItsLimit) {
  // Gate 9 counts as 7: 7 / (1 + exp(-11.914)) = 6.999953; up -8 as -7, and one is added. Gate -9 stays.
  const Values gate_up{9, -9, -8, 0.5};
  Values y(2), dx(4);
  kernels::reference::glu_forward({1, 2, Gate::clamped}, gate_up, y);
  EXPECT_NEAR(y[0], -6 * 7 / (1 + std::exp(-1.702 * 7)), 1e-14);
  EXPECT_NEAR(y[1], 1.5 * -9 / (1 + std::exp(1.702 * 9)), 1e-14);
  kernels::reference::glu_backward({1, 2, Gate::clamped}, gate_up, Values{1, 1}, dx);
  EXPECT_EQ(dx[0], 0);
  EXPECT_EQ(dx[2], 0);
  EXPECT_NE(dx[1], 0);
  EXPECT_NE(dx[3], 0);
}

TEST(GluKernel, BackwardIsTheGradient) {
  for (const Gate gate : {Gate::silu, Gate::gelu, Gate::clamped}) {
    const kernels::Glu shape{2, 5, gate};
    const Values x = test::random_values(20, 1, 9), dy = test::random_values(10, 2);
    Values dx(20);
    kernels::reference::glu_backward(shape, x, dy, dx);
    test::expect_gradient(x, dx, [&](const Values& values) {
      Values y(10);
      kernels::reference::glu_forward(shape, values, y);
      return test::dot(y, dy);
    });
  }
}

TEST(GeluKernel, OfOneIsTheNormalDistributionAtOne) {
  // Phi(1) = 0.8413447460685429; the approximation gives 0.8411919906082768.
  const Values one{1};
  Values y(1);
  kernels::reference::gelu_forward(Gelu::erf, one, y);
  EXPECT_NEAR(y[0], 0.8413447460685429, 1e-15);
  kernels::reference::gelu_forward(Gelu::tanh, one, y);
  EXPECT_NEAR(y[0], 0.8411919906082768, 1e-15);
}

TEST(GeluKernel, BackwardIsTheGradient) {
  for (Gelu kind : {Gelu::erf, Gelu::tanh}) {
    const Values x = test::random_values(20, 1, 2), dy = test::random_values(20, 2);
    Values dx(20);
    kernels::reference::gelu_backward(kind, x, dy, dx);
    test::expect_gradient(x, dx, [&](const Values& values) {
      Values y(20);
      kernels::reference::gelu_forward(kind, values, y);
      return test::dot(y, dy);
    });
  }
}

TEST(ReluKernel, IsTheInputOrItsSquareAboveZeroAndNothingBelow) {
  const Values x{-2, 0, 0.5, 3};
  Values y(4);
  kernels::reference::relu_forward(Relu::plain, x, y);
  EXPECT_EQ(y, (Values{0, 0, 0.5, 3}));
  kernels::reference::relu_forward(Relu::squared, x, y);
  EXPECT_EQ(y, (Values{0, 0, 0.25, 9}));
}

TEST(ReluKernel, BackwardIsTheGradient) {
  for (const Relu kind : {Relu::plain, Relu::squared}) {
    const Values x = test::random_values(20, 1, 2), dy = test::random_values(20, 2);
    Values dx(20);
    kernels::reference::relu_backward(kind, x, dy, dx);
    test::expect_gradient(x, dx, [&](const Values& values) {
      Values y(20);
      kernels::reference::relu_forward(kind, values, y);
      return test::dot(y, dy);
    });
  }
}

}  // namespace
