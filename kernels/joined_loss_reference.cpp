// kernels/joined_loss_reference.cpp -- see joined_loss.h. SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/joined_loss.h"

namespace kernels::reference {

void rescale_total(Input own, Input maximum, Output total) {
  for (std::size_t row = 0; row < total.size(); ++row) total[row] *= std::exp(own[row] - maximum[row]);
}

void join_states(const JoinedStates& s, Indices targets, Input own_maximum, Input own_total, Input maximum, Input total,
                 Input target_rows, Output states) {
  for (std::int64_t row = 0; row < s.rows; ++row) {
    const double scale = targets[row] < 0 ? 0 : s.scale;
    const double share = own_total[row] / total[row] * std::exp(own_maximum[row] - maximum[row]);
    for (std::int64_t i = row * s.width; i < (row + 1) * s.width; ++i) {
      states[i] = scale * (states[i] * share - target_rows[i]);
    }
  }
}

}  // namespace kernels::reference
