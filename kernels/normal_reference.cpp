// kernels/normal_reference.cpp -- see normal.h. SPDX-License-Identifier: Apache-2.0
#include "kernels/normal.h"

namespace kernels::reference {

void normal(const Normal& n, Output y) {
  for (std::int64_t row = 0; row < n.rows; ++row) {
    for (std::int64_t column = 0; column < n.columns; ++column) {
      y[static_cast<std::size_t>(row * n.columns + column)] =
          n.deviation * normal_at(n.key, n.first + row * n.stride + column);
    }
  }
}

}  // namespace kernels::reference
