// kernels/convert_reference.cpp -- see convert.h.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/convert.h"

namespace kernels::reference {

void scale_add(double alpha, Input x, double beta, Output y) {
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = alpha * x[i] + (beta == 0 ? 0 : beta * y[i]);
}

void sum(Input x, Input y, Output to) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = x[i] + y[i];
}

}  // namespace kernels::reference
