// SPDX-License-Identifier: Apache-2.0
#include "core/plan/axes.h"

namespace plan {

Axes axes_of(const spec::Strategy& s) {
  Axes axes;
  const int replicas = s.cp * s.data();
  const int shard = s.shard > 0 ? s.shard : replicas;
  axes.ranks = s.tp * replicas;
  const auto set = [&](Axis axis, int stride, int size) { axes.shapes[static_cast<int>(axis)] = {stride, size}; };
  set(Axis::tp, 1, s.tp);
  set(Axis::cp, s.tp, s.cp);
  set(Axis::dp, s.tp, replicas);
  set(Axis::shard, s.tp, shard);
  set(Axis::replicate, s.tp * shard, replicas / shard);
  set(Axis::etp, 1, s.etp);
  set(Axis::ep, s.etp, s.ep);
  set(Axis::expert_dp, s.etp * s.ep, axes.ranks / (s.etp * s.ep));
  return axes;
}

}  // namespace plan
