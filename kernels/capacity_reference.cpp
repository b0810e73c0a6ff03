// kernels/capacity_reference.cpp -- see capacity.h.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/capacity.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace kernels::reference {

void drop_choices(const Permute& p, Indices experts, Input weights, std::span<std::int32_t> kept) {
  std::vector<std::size_t> order(p.tokens * p.top_k);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto rank = [&](std::size_t i) {
    return std::isnan(weights[i]) ? std::numeric_limits<double>::infinity() : weights[i];
  };
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return rank(a) > rank(b); });
  std::vector<std::int64_t> taken(p.experts, 0);
  for (const std::size_t choice : order) {
    const std::int32_t expert = experts[choice];
    kept[choice] = taken[expert]++ < p.capacity ? expert : -1;
  }
}

}  // namespace kernels::reference
