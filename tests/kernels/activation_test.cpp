// tests/kernels/activation_test.cpp -- kernels/swiglu.h, gelu.h and squared_relu.h. SPDX-License-Identifier: Apache-2.0
#include "kernels/gelu.h"
#include "kernels/squared_relu.h"
#include "kernels/swiglu.h"
#include "tests/kernels/gradients.h"

namespace {

using kernels::Gelu;
using test::Values;

TEST(SwigluKernel, IsTheGateTimesItsSigmoidTimesUp) {
  // silu(0) = 0; silu(ln 3) = ln 3 / (1 + 1 / 3) = 0.75 ln 3.
  const Values gate_up{0, std::log(3), 5, 4};
  Values y(2);
  kernels::reference::swiglu_forward({1, 2}, gate_up, y);
  EXPECT_EQ(y[0], 0);
  EXPECT_NEAR(y[1], 3 * std::log(3), 1e-15);
}

TEST(SwigluKernel, BackwardIsTheGradient) {
  const Values x = test::random_values(20, 1), dy = test::random_values(10, 2);
  Values dx(20);
  kernels::reference::swiglu_backward({2, 5}, x, dy, dx);
  test::expect_gradient(x, dx, [&](const Values& values) {
    Values y(10);
    kernels::reference::swiglu_forward({2, 5}, values, y);
    return test::dot(y, dy);
  });
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

TEST(SquaredReluKernel, IsTheSquareAboveZeroAndNothingBelow) {
  const Values x{-2, 0, 0.5, 3};
  Values y(4);
  kernels::reference::squared_relu_forward(x, y);
  EXPECT_EQ(y, (Values{0, 0, 0.25, 9}));
}

TEST(SquaredReluKernel, BackwardIsTheGradient) {
  const Values x = test::random_values(20, 1, 2), dy = test::random_values(20, 2);
  Values dx(20);
  kernels::reference::squared_relu_backward(x, dy, dx);
  test::expect_gradient(x, dx, [&](const Values& values) {
    Values y(20);
    kernels::reference::squared_relu_forward(values, y);
    return test::dot(y, dy);
  });
}

}  // namespace
