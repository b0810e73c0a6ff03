// kernels/rows_reference.cpp -- see rows.h.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/rows.h"

namespace kernels::reference {

void add_rows(Input bias, Output y) {
  for (std::size_t i = 0; i < y.size(); ++i) y[i] += bias[i % bias.size()];
}

void sum_rows(Input dy, Output dbias) {
  for (std::size_t i = 0; i < dy.size(); ++i) dbias[i % dbias.size()] += dy[i];
}

}  // namespace kernels::reference
