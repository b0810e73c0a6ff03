// SPDX-License-Identifier: Apache-2.0
#include "sim/prices.h"

#include <type_traits>
#include <variant>

#include "sim/cost/price.h"
#include "sim/engine/flatten.h"
#include "sim/network/closed_form.h"

namespace sim {

std::vector<base::Seconds> prices_of(const plan::Plan& plan, const spec::Cluster& cluster, spec::Algorithm algorithm) {
  const Device device{cluster.node.gpu, cluster.node.calibration, plan.axes.ranks * plan.pp};
  std::vector<base::Seconds> out;
  out.reserve(plan.works.size());
  for (const plan::Work& work : plan.works) {
    out.push_back(std::visit(
        [&](const auto& w) -> base::Seconds {
          using W = std::decay_t<decltype(w)>;
          if constexpr (std::is_same_v<W, plan::HostSync>) {
            return base::Seconds();
          } else if constexpr (std::is_same_v<W, plan::RatedCopy>) {
            return base::Seconds(static_cast<double>(w.bytes) / static_cast<double>(w.rate));
          } else if constexpr (std::is_same_v<W, plan::Collective>) {
            return price(w, cluster, algorithm).time;
          } else if constexpr (std::is_same_v<W, plan::Transfer>) {
            return price(w, cluster).time;
          } else {
            return price(w, device).time;
          }
        },
        work));
  }
  return out;
}

EngineInput priced(const plan::Plan& plan, const spec::Job& job) {
  const spec::Cluster& cluster = job.cluster;
  const spec::Algorithm algorithm = job.network.algorithm;
  if (!cluster.mixed()) return flatten(plan, prices_of(plan, cluster, algorithm), job);
  std::vector<Prices> by_kind;
  for (int kind = 0; kind < cluster.kinds(); ++kind) {
    by_kind.push_back(prices_of(plan, cluster.of_kind(kind), algorithm));
  }
  return flatten(plan, by_kind, job);
}

}  // namespace sim
