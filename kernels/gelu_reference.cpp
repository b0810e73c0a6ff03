// kernels/gelu_reference.cpp -- see gelu.h.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/gelu.h"

#include <cmath>
#include <numbers>

namespace kernels::reference {
namespace {

struct ValueAndSlope {
  double value, slope;
};

ValueAndSlope exact(double x) {
  const double phi = 0.5 * (1 + std::erf(x / std::numbers::sqrt2));
  const double density = std::exp(-x * x / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
  return {x * phi, phi + x * density};
}

ValueAndSlope approximate(double x) {
  const double factor = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
  const double t = std::tanh(factor * (x + 0.044715 * x * x * x));
  const double inner = factor * (1 + 3 * 0.044715 * x * x);
  return {0.5 * x * (1 + t), 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * inner};
}

ValueAndSlope gelu(Gelu kind, double x) { return kind == Gelu::erf ? exact(x) : approximate(x); }

}  // namespace

void gelu_forward(Gelu kind, Input x, Output y) {
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = gelu(kind, x[i]).value;
}

void gelu_backward(Gelu kind, Input x, Input dy, Output dx) {
  for (std::size_t i = 0; i < x.size(); ++i) dx[i] = dy[i] * gelu(kind, x[i]).slope;
}

}  // namespace kernels::reference
