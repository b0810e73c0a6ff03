// SPDX-License-Identifier: Apache-2.0
#include "sim/prices.h"

#include <memory>
#include <type_traits>
#include <variant>

#include "sim/cost/price.h"
#include "sim/network/network.h"

namespace sim {

std::vector<base::Seconds> prices_of(const plan::Plan& plan, const spec::Job& job) {
  return prices_of(plan, job.cluster, job.network);
}

std::vector<base::Seconds> prices_of(const plan::Plan& plan, const spec::Cluster& cluster, const spec::Network& how) {
  const std::unique_ptr<Network> network = make_network(cluster, how);
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
          } else if constexpr (std::is_same_v<W, plan::Collective> || std::is_same_v<W, plan::Transfer>) {
            return network->price(w).time;
          } else {
            return price(w, device).time;
          }
        },
        work));
  }
  return out;
}

}  // namespace sim
