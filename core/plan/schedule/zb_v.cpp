// SPDX-License-Identifier: Apache-2.0
#include "core/plan/schedule/greedy.h"

namespace plan {

/// Why forwards go first: on the way down they fill the time until the first gradient, and the sooner the last
/// microbatch has come back up to stage 0, the more weight gradients are left there to wait with for its gradient.
std::vector<std::vector<Slot>> zb_v(const Pipeline& p) {
  const int most = 2 * p.stages;
  return greedy(p, spec::Placement(spec::ChunkShape::v, p.stages, 2), {most, most - 1, true});
}

}  // namespace plan
