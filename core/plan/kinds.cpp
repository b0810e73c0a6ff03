// SPDX-License-Identifier: Apache-2.0
#include "core/plan/kinds.h"

namespace plan {

int rank_of(const Plan& plan, const Role& role, int place) {
  return plan.axes.stage_stride > 0 ? plan.axes.rank_of(role.stage, place) : role.first_rank + place;
}

std::vector<int> kinds_of(const Plan& plan, const Role& role, const spec::Cluster& cluster) {
  if (!cluster.mixed()) return {0};
  std::vector<bool> met(cluster.groups.size());
  for (int place = 0; place < role.ranks; ++place) met[cluster.kind_of_rank(rank_of(plan, role, place))] = true;
  std::vector<int> out;
  for (int kind = 0; kind < cluster.kinds(); ++kind) {
    if (met[kind]) out.push_back(kind);
  }
  return out;
}

}  // namespace plan
