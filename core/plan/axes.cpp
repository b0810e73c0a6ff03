// SPDX-License-Identifier: Apache-2.0
#include "core/plan/axes.h"

#include <algorithm>
#include <numeric>

#include "core/spec/rank_order.h"

namespace plan {

Axes axes_of(const spec::Strategy& s) {
  Axes axes;
  const int replicas = s.cp * s.data();
  const int shard = s.shard > 0 ? s.shard : replicas;
  axes.ranks = s.tp * replicas;
  const auto set = [&](Axis axis, int stride, int size) { axes.shapes[static_cast<int>(axis)] = {stride, size}; };
  const spec::RankOrder o = spec::parse_rank_order(s.rank_order).value_or(spec::RankOrder());
  // An axis strides over all that runs faster than it.
  const auto behind = [](int place, int other, int size) { return other < place ? size : 1; };
  const int tp = behind(o.tp, o.cp, s.cp) * behind(o.tp, o.dp, s.data());
  const int cp = behind(o.cp, o.tp, s.tp) * behind(o.cp, o.dp, s.data());
  const int dp = behind(o.dp, o.tp, s.tp) * behind(o.dp, o.cp, s.cp);
  const int both = s.cp == 1 ? dp : s.data() == 1 ? cp : std::min(cp, dp);  // side by side
  set(Axis::tp, tp, s.tp);
  set(Axis::cp, cp, s.cp);
  set(Axis::dp, both, replicas);
  set(Axis::shard, both, shard);
  set(Axis::replicate, both * shard, replicas / shard);
  const int expert_dp = axes.ranks / (s.etp * s.ep);
  set(Axis::etp, behind(o.tp, o.ep, s.ep) * behind(o.tp, o.dp, expert_dp), s.etp);
  set(Axis::ep, behind(o.ep, o.tp, s.etp) * behind(o.ep, o.dp, expert_dp), s.ep);
  const int expert_stride = behind(o.dp, o.tp, s.etp) * behind(o.dp, o.ep, s.ep);
  const int expert_copies = std::gcd(expert_dp, replicas / shard);
  set(Axis::expert_dp, expert_stride, expert_dp);
  set(Axis::expert_shard, expert_stride, expert_dp / expert_copies);
  set(Axis::expert_replicate, expert_stride * (expert_dp / expert_copies), expert_copies);
  axes.stages = s.pp;
  axes.stage_stride = behind(o.pp, o.tp, s.tp) * behind(o.pp, o.cp, s.cp) * behind(o.pp, o.dp, s.data());
  return axes;
}

}  // namespace plan
