// kernels/sgd_reference.cpp -- see sgd.h.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/sgd.h"

namespace kernels::reference {

void sgd(const Sgd& s, double factor, Input gradient, Output master, Output m) {
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    m[i] = s.momentum * m[i] + factor * gradient[i] + s.weight_decay * master[i];
    master[i] -= s.learning_rate * m[i];
  }
}

}  // namespace kernels::reference
