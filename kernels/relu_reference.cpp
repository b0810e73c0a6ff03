// kernels/relu_reference.cpp -- see relu.h.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/relu.h"

#include <algorithm>

namespace kernels::reference {

void relu_forward(Relu kind, Input x, Output y) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double positive = std::max<double>(x[i], 0);
    y[i] = kind == Relu::squared ? positive * positive : positive;
  }
}

void relu_backward(Relu kind, Input x, Input dy, Output dx) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double above = kind == Relu::squared ? 2 * x[i] : 1;
    dx[i] = dy[i] * (x[i] > 0 ? above : 0);
  }
}

}  // namespace kernels::reference
