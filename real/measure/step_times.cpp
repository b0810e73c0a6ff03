// SPDX-License-Identifier: Apache-2.0
#include "real/measure/step_times.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace real {
namespace {

/// Between the two steps that `share` of all lies between.
base::Seconds quantile(const StepTimes& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(at)), above = static_cast<std::size_t>(std::ceil(at));
  return sorted[below] + (sorted[above] - sorted[below]) * (at - std::floor(at));
}

}  // namespace

StepTimes slowest(const std::vector<StepTimes>& by_rank) {
  StepTimes out = by_rank.front();
  for (const StepTimes& rank : by_rank) {
    assert(rank.size() == out.size());
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = std::max(out[i], rank[i]);
  }
  return out;
}

Spread spread_of(StepTimes steps) {
  assert(!steps.empty());
  std::sort(steps.begin(), steps.end());
  return {quantile(steps, 0.5), quantile(steps, 0.1), quantile(steps, 0.9)};
}

}  // namespace real
