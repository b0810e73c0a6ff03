// SPDX-License-Identifier: Apache-2.0
#include "core/plan/schedule/schedule.h"

namespace plan {

std::vector<Slot> pipedream(const Pipeline& p) {
  // A step begins with as many microbatches forwarded here as there are stages from here on.
  const int ahead = p.stages - p.stage;
  std::vector<Slot> out;
  out.reserve(2 * static_cast<std::size_t>(p.microbatches));
  for (int m = 0; m < p.microbatches; ++m) {
    out.push_back({Pass::backward, m, 0});
    out.push_back({Pass::forward, (m + ahead) % p.microbatches, 0});
  }
  return out;
}

}  // namespace plan
