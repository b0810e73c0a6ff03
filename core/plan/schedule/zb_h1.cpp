// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/plan/schedule/schedule.h"

namespace plan {

std::vector<Slot> zb_h1(const Pipeline& p) {
  std::vector<Slot> out;
  out.reserve(3 * static_cast<std::size_t>(p.microbatches));
  int forwards = std::min(p.stages - 1 - p.stage, p.microbatches), inputs = 0, weights = 0;
  for (int m = 0; m < forwards; ++m) out.push_back({Pass::forward, m, 0});
  while (inputs < p.microbatches) {
    const bool draining = forwards == p.microbatches;
    if (!draining) out.push_back({Pass::forward, forwards++, 0});
    out.push_back({Pass::input_gradient, inputs++, 0});
    // While gradients arrive slower than they are computed, weight gradients fill the time between.
    if (inputs - weights > (draining ? 0 : p.stage)) out.push_back({Pass::weight_gradient, weights++, 0});
  }
  while (weights < p.microbatches) out.push_back({Pass::weight_gradient, weights++, 0});
  return out;
}

}  // namespace plan
