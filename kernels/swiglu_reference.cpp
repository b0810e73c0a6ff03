// kernels/swiglu_reference.cpp -- see swiglu.h.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/swiglu.h"

#include <cmath>

namespace kernels::reference {

void swiglu_forward(const Swiglu& s, Input gate_up, Output y) {
  for (std::int64_t row = 0; row < s.rows; ++row) {
    for (std::int64_t i = 0; i < s.width; ++i) {
      const double gate = gate_up[row * 2 * s.width + i], up = gate_up[(row * 2 + 1) * s.width + i];
      y[row * s.width + i] = gate / (1 + std::exp(-gate)) * up;
    }
  }
}

void swiglu_backward(const Swiglu& s, Input gate_up, Input dy, Output dgate_up) {
  for (std::int64_t row = 0; row < s.rows; ++row) {
    for (std::int64_t i = 0; i < s.width; ++i) {
      const double gate = gate_up[row * 2 * s.width + i], up = gate_up[(row * 2 + 1) * s.width + i];
      const double sigmoid = 1 / (1 + std::exp(-gate)), grad = dy[row * s.width + i];
      dgate_up[row * 2 * s.width + i] = grad * up * sigmoid * (1 + gate * (1 - sigmoid));
      dgate_up[(row * 2 + 1) * s.width + i] = grad * gate * sigmoid;
    }
  }
}

}  // namespace kernels::reference
