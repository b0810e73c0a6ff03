// kernels/attention_sinks_reference.cpp -- see attention_sinks.h.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention_sinks.h"

#include <algorithm>
#include <cmath>

namespace kernels::reference {
namespace {

/// Calls body(head, first number of the row, statistic) for every query of every head.
template <class Body>
void for_each_row(const Attention& a, Body body) {
  for (std::int64_t batch = 0; batch < a.batch; ++batch) {
    for (std::int64_t head = 0; head < a.heads; ++head) {
      for (std::int64_t query = 0; query < a.queries; ++query) {
        body(head, ((batch * a.queries + query) * a.heads + head) * a.value_dim,
             (batch * a.heads + head) * a.queries + query);
      }
    }
  }
}

}  // namespace

void attention_sinks_forward(const Attention& a, Input sinks, Output out, Output lse) {
  for_each_row(a, [&](std::int64_t head, std::int64_t row, std::int64_t statistic) {
    const double before = lse[statistic], high = std::max(before, sinks[head]);
    lse[statistic] = high + std::log(std::exp(before - high) + std::exp(sinks[head] - high));
    for (std::int64_t i = row; i < row + a.value_dim; ++i) out[i] *= std::exp(before - lse[statistic]);
  });
}

void attention_sinks_backward(const Attention& a, Input sinks, Input out, Input lse, Input dout, Output dsinks) {
  for_each_row(a, [&](std::int64_t head, std::int64_t row, std::int64_t statistic) {
    double along = 0;
    for (std::int64_t i = row; i < row + a.value_dim; ++i) along += dout[i] * out[i];
    dsinks[head] -= std::exp(sinks[head] - lse[statistic]) * along;
  });
}

}  // namespace kernels::reference
