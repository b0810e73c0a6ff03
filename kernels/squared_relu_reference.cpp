// kernels/squared_relu_reference.cpp -- see squared_relu.h.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/squared_relu.h"

namespace kernels::reference {

void squared_relu_forward(Input x, Output y) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double positive = std::max<double>(x[i], 0);
    y[i] = positive * positive;
  }
}

void squared_relu_backward(Input x, Input dy, Output dx) {
  for (std::size_t i = 0; i < x.size(); ++i) dx[i] = dy[i] * 2 * std::max<double>(x[i], 0);
}

}  // namespace kernels::reference
