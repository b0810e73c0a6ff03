// SPDX-License-Identifier: Apache-2.0
#include "core/plan/schedule/schedule.h"

namespace plan {

std::vector<Slot> gpipe(const Pipeline& p) {
  std::vector<Slot> out;
  out.reserve(2 * static_cast<std::size_t>(p.microbatches));
  for (int m = 0; m < p.microbatches; ++m) out.push_back({Pass::forward, m, 0});
  for (int m = 0; m < p.microbatches; ++m) out.push_back({Pass::backward, m, 0});
  return out;
}

}  // namespace plan
