// kernels/adamw_reference.cpp -- see adamw.h.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/adamw.h"

#include <cmath>

namespace kernels::reference {

void adamw(const AdamW& a, double factor, Input gradient, Output master, Output m, Output v) {
  const auto step = static_cast<double>(a.step);
  const double correct_m = 1 - std::pow(a.beta1, step), correct_v = 1 - std::pow(a.beta2, step);
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const double g = factor * gradient[i];
    m[i] = a.beta1 * m[i] + (1 - a.beta1) * g;
    v[i] = a.beta2 * v[i] + (1 - a.beta2) * g * g;
    const double update = m[i] / correct_m / (std::sqrt(v[i] / correct_v) + a.epsilon);
    master[i] -= a.learning_rate * (update + a.weight_decay * master[i]);
  }
}

}  // namespace kernels::reference
