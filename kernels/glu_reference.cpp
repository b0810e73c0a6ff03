// kernels/glu_reference.cpp -- see glu.h.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/glu.h"

#include <algorithm>
#include <cmath>

#include "kernels/gelu.h"

namespace kernels::reference {
namespace {

/// A gate's value and its slope.
struct Gated {
  double value = 0, slope = 0;

  Gated(Gate gate, double x) {
    if (gate == Gate::silu) {
      const double sigmoid = 1 / (1 + std::exp(-x));
      value = x * sigmoid;
      slope = sigmoid * (1 + x * (1 - sigmoid));
    } else if (gate == Gate::clamped) {
      const double m = std::min(x, kGateLimit), sigmoid = 1 / (1 + std::exp(-kGateSlope * m));
      value = m * sigmoid;
      slope = x <= kGateLimit ? sigmoid * (1 + kGateSlope * m * (1 - sigmoid)) : 0;
    } else {
      constexpr double one = 1;
      gelu_forward(Gelu::tanh, {&x, 1}, {&value, 1});
      gelu_backward(Gelu::tanh, {&x, 1}, {&one, 1}, {&slope, 1});
    }
  }
};

/// What a gate is multiplied with.
struct Up {
  double value = 0, slope = 1;

  Up(Gate gate, double x) : value(x) {
    if (gate != Gate::clamped) return;
    value = std::clamp(x, -kGateLimit, kGateLimit) + 1;
    slope = std::abs(x) <= kGateLimit ? 1 : 0;
  }
};

}  // namespace

void glu_forward(const Glu& g, Input gate_up, Output y) {
  for (std::int64_t row = 0; row < g.rows; ++row) {
    for (std::int64_t i = 0; i < g.width; ++i) {
      const double gate = gate_up[row * 2 * g.width + i], up = gate_up[(row * 2 + 1) * g.width + i];
      y[row * g.width + i] = Gated(g.gate, gate).value * Up(g.gate, up).value;
    }
  }
}

void glu_backward(const Glu& g, Input gate_up, Input dy, Output dgate_up) {
  for (std::int64_t row = 0; row < g.rows; ++row) {
    for (std::int64_t i = 0; i < g.width; ++i) {
      const Gated gated(g.gate, gate_up[row * 2 * g.width + i]);
      const Up up(g.gate, gate_up[(row * 2 + 1) * g.width + i]);
      const double grad = dy[row * g.width + i];
      dgate_up[row * 2 * g.width + i] = grad * up.value * gated.slope;
      dgate_up[(row * 2 + 1) * g.width + i] = grad * gated.value * up.slope;
    }
  }
}

}  // namespace kernels::reference
