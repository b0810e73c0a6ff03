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
  for (const int of_first : {most - 1, most * 7 / 8, most * 3 / 4, most * 5 / 8, p.stages}) {
    for (const int preference : {0, 1, 2, 3}) {
      const Greed greed{most, std::max(1, of_first), preference % 2 != 0, preference / 2 != 0};
      std::vector<std::vector<Slot>> found = greedy(p, places, greed);
      const int length = period(found, p, places);
      if (!best.empty() && length >= least) continue;
      best = std::move(found);
      least = length;
    }
  }
  return best;
}

}  // namespace plan
