// kernels/dropout_reference.cpp -- see dropout.h.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/dropout.h"

namespace kernels::reference {

void dropout(const Dropout& d, Input x, Output y) {
  const std::uint32_t threshold = dropout_threshold(d.probability);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::uint64_t place = d.offset + i;
    const bool kept = philox(d.seed, place / 4).word[place % 4] >= threshold;
    y[i] = kept ? x[i] / (1 - d.probability) : 0;
  }
}

}  // namespace kernels::reference
