// kernels/permute_reference.cpp -- see permute.h.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/permute.h"

#include <algorithm>
#include <vector>

namespace kernels::reference {

void permute_plan(const Permute& p, Indices experts, std::span<std::int32_t> counts, std::span<std::int32_t> rows) {
  std::fill(counts.begin(), counts.end(), 0);
  const Indices choices = experts.first(p.tokens * p.top_k);
  for (std::int32_t e : choices) {
    if (e >= 0 && e < p.experts) ++counts[e];
  }
  std::vector<std::int32_t> next(p.experts, 0);
  for (std::int64_t e = p.first + 1; e < p.end(); ++e) {
    next[e] = next[e - 1] + (p.capacity > 0 ? static_cast<std::int32_t>(p.capacity) : counts[e - 1]);
  }
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const std::int32_t e = choices[i];
    rows[i] = e >= p.first && e < p.end() ? next[e]++ : -1;
  }
}

void permute_forward(const Permute& p, Indices rows, Input x, Output sorted) {
  for (std::int64_t choice = 0; choice < p.tokens * p.top_k; ++choice) {
    if (rows[choice] < 0) continue;
    const Input row = x.subspan(choice / p.top_k * p.width, p.width);
    std::copy(row.begin(), row.end(), sorted.begin() + rows[choice] * p.width);
  }
}

void permute_backward(const Permute& p, Indices rows, Input dsorted, Output dx) {
  std::fill(dx.begin(), dx.end(), 0);
  for (std::int64_t choice = 0; choice < p.tokens * p.top_k; ++choice) {
    for (std::int64_t i = 0; i < p.width && rows[choice] >= 0; ++i) {
      dx[choice / p.top_k * p.width + i] += dsorted[rows[choice] * p.width + i];
    }
  }
}

void unpermute_forward(const Permute& p, Indices rows, Input weights, Input sorted, Output y) {
  std::fill(y.begin(), y.end(), 0);
  for (std::int64_t choice = 0; choice < p.tokens * p.top_k; ++choice) {
    for (std::int64_t i = 0; i < p.width && rows[choice] >= 0; ++i) {
      y[choice / p.top_k * p.width + i] += weights[choice] * sorted[rows[choice] * p.width + i];
    }
  }
}

void unpermute_backward(const Permute& p, Indices rows, Input weights, Input sorted, Input dy, Output dsorted,
                        Output dweights) {
  for (std::int64_t choice = 0; choice < p.tokens * p.top_k; ++choice) {
    dweights[choice] = 0;
    for (std::int64_t i = 0; i < p.width && rows[choice] >= 0; ++i) {
      const double grad = dy[choice / p.top_k * p.width + i];
      dsorted[rows[choice] * p.width + i] = weights[choice] * grad;
      dweights[choice] += grad * sorted[rows[choice] * p.width + i];
    }
  }
}

}  // namespace kernels::reference
