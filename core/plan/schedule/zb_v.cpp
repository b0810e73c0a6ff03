// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "core/plan/schedule/greedy.h"

namespace plan {

std::vector<std::vector<Slot>> zb_v(const Pipeline& p) {
  const Placement places(spec::Schedule::zb_v, p.stages, 2);
  const int most = 2 * p.stages;
  std::vector<std::vector<Slot>> best;
  int least = 0;
  for (const int of_first : {most - 1, most * 3 / 4, p.stages}) {
    for (const bool forward_first : {false, true}) {
      std::vector<std::vector<Slot>> found = greedy(p, places, {most, std::max(1, of_first), forward_first});
      const int length = period(found, p, places);
      if (!best.empty() && length >= least) continue;
      best = std::move(found);
      least = length;
    }
  }
  return best;
}

}  // namespace plan
