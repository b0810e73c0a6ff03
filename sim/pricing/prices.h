// sim/pricing/prices.h -- the price of every work of a plan, each kind by its own family.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "core/base/units.h"
#include "core/plan/plan.h"
#include "core/spec/job.h"
#include "sim/cost/price.h"
#include "sim/engine/engine.h"
#include "sim/network/network.h"

namespace sim {

/// Prices single works of a cluster's jobs, alone on an idle GPU and on wires that carry only the groups of its axis,
/// and keeps each price. REQUIRES: the cluster outlives it. No two threads at once.
class PriceList {
 public:
  PriceList(const spec::Cluster&, const spec::Network& = {}, const spec::Outages& = {});
  base::Seconds of(const plan::Work&);

 private:
  std::unique_ptr<Network> network_;
  Device device_;
  std::map<plan::Work, base::Seconds> known_;
};

/// prices[i] is of plan.works[i], alone on an idle GPU and on wires that carry only the groups of its axis. Of a mixed
/// cluster: on the least able GPUs.
std::vector<base::Seconds> prices_of(const plan::Plan&, const spec::Cluster&, const spec::Network& = {},
                                     const spec::Outages& = {});

/// The plan with its prices on every kind of node, ready to run. REQUIRES: the plan outlives it.
EngineInput priced(const plan::Plan&, const spec::Job&);

}  // namespace sim
