// kernels/dropout_reference.cpp -- see dropout.h.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/dropout.h"

namespace kernels::reference {

void dropout(const Dropout& d, Input x, Output y) {
  const std::uint32_t threshold = dropout_threshold(d.probability);
  for (std::size_t i = 0; i < x.size(); ++i) {
    y[i] = dropout_keeps(d, threshold, d.offset + i) ? x[i] / (1 - d.probability) : 0;
  }
}

}  // namespace kernels::reference
