// SPDX-License-Identifier: Apache-2.0
#include "sim/pricing/prices.h"

#include <memory>
#include <type_traits>
#include <variant>

#include "sim/cost/power.h"
#include "sim/cost/price.h"
#include "sim/network/network.h"
#include "sim/pricing/conditions.h"
#include "sim/pricing/couple.h"
#include "sim/pricing/flatten.h"

namespace sim {
namespace {

base::Seconds price_of(const plan::Work& work, Network& network, const Device& device, Crossing* crossing = nullptr) {
  return std::visit(
      [&](const auto& w) -> base::Seconds {
        using W = std::decay_t<decltype(w)>;
        if constexpr (std::is_same_v<W, plan::HostSync>) {
          return base::Seconds();
        } else if constexpr (std::is_same_v<W, plan::RatedCopy>) {
          return base::Seconds(static_cast<double>(w.bytes) / static_cast<double>(w.rate));
        } else if constexpr (std::is_same_v<W, plan::Collective> || std::is_same_v<W, plan::Transfer>) {
          const NetworkPrice price = network.price(w);
          if (crossing != nullptr) *crossing = price.crossing;
          return price.time;
        } else {
          return price(w, device).time;
        }
      },
      work);
}

/// `crossings`: as many as works, or none is wanted.
Prices price_all(const plan::Plan& plan, const spec::Cluster& cluster, const spec::Network& how,
                 const spec::Outages& outages, std::vector<Crossing>* crossings) {
  const std::unique_ptr<Network> network = make_network(cluster, how, outages);
  const Device device = slowest_of(cluster.node, plan.waiting);
  std::vector<base::Seconds> out;
  out.reserve(plan.works.size());
  for (const plan::Work& work : plan.works) {
    Crossing* crossing = crossings != nullptr ? &(*crossings)[out.size()] : nullptr;
    out.push_back(price_of(work, *network, device, crossing));
  }
  return out;
}

}  // namespace

PriceList::PriceList(const spec::Cluster& cluster, const spec::Network& how, const spec::Outages& outages)
    : network_(make_network(cluster, how, outages)), device_(slowest_of(cluster.node, cluster.gpus())) {}

base::Seconds PriceList::of(const plan::Work& work) {
  const auto known = known_.find(work);
  if (known != known_.end()) return known->second;
  return known_.emplace(work, price_of(work, *network_, device_)).first->second;
}

std::vector<base::Seconds> prices_of(const plan::Plan& plan, const spec::Cluster& cluster, const spec::Network& how,
                                     const spec::Outages& outages) {
  return price_all(plan, cluster, how, outages, nullptr);
}

EngineInput priced(const plan::Plan& plan, const spec::Job& job) {
  const spec::Cluster& cluster = job.cluster;
  const spec::Outages none{.seed = job.simulation.seed};
  if (job.network.fidelity == spec::Fidelity::coupled) {  // what is slow or lost is so on the wires
    std::vector<Crossing> crossings(plan.works.size());
    EngineInput in = flatten(plan, price_all(plan, cluster, job.network, none, &crossings), job);
    couple(in, job, crossings);
    return in;
  }
  std::vector<Prices> by_kind;
  for (int kind = 0; kind < cluster.kinds(); ++kind) {
    by_kind.push_back(prices_of(plan, cluster.of_kind(kind), job.network, none));
  }
  const std::vector<Condition> conditions = conditions_of(job);
  for (const Condition& condition : conditions) {
    by_kind.push_back(prices_of(plan, cluster, job.network, condition.outages));
  }
  return flatten(plan, by_kind, job, conditions);
}

}  // namespace sim
