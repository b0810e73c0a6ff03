// kernels/gradient_norm_reference.cpp -- see gradient_norm.h.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/gradient_norm.h"

#include <cmath>

namespace kernels::reference {

double squared_norm(Input values) {
  double total = 0;
  for (double value : values) total += value * value;
  return total;
}

double clip_factor(double squared_norm, double max_norm) {
  const double norm = std::sqrt(squared_norm);
  return norm > max_norm ? max_norm / norm : 1;
}

void scale_by(double factor, Output values) {
  for (double& value : values) value *= factor;
}

}  // namespace kernels::reference
