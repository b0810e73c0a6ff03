// SPDX-License-Identifier: Apache-2.0
#include "core/plan/schedule/greedy.h"

namespace plan {

std::vector<std::vector<Slot>> zb_h2(const Pipeline& p) {
  const int most = 2 * p.stages - 1;
  return greedy(p, spec::Placement(spec::ChunkShape::ring, p.stages, 1), {most, most});
}

}  // namespace plan
