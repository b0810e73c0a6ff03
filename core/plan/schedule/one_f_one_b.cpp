// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/plan/schedule/schedule.h"

namespace plan {

std::vector<Slot> one_f_one_b(const Pipeline& p) {
  const int warm_up = std::min(p.stages - 1 - p.stage + p.lead, p.microbatches);
  std::vector<Slot> out;
  out.reserve(2 * static_cast<std::size_t>(p.microbatches));
  for (int m = 0; m < warm_up; ++m) out.push_back({Pass::forward, m, 0});
  for (int m = warm_up; m < p.microbatches; ++m) {
    out.push_back({Pass::forward, m, 0});
    out.push_back({Pass::backward, m - warm_up, 0});
  }
  for (int m = p.microbatches - warm_up; m < p.microbatches; ++m) out.push_back({Pass::backward, m, 0});
  return out;
}

}  // namespace plan
