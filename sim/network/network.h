// sim/network/network.h -- the network at one of its fidelities: what a collective or a transfer takes.
//
//   closed_form  alpha-beta for each algorithm and path (sim/network/closed_form.h)
//   flow         the same with rates at which flows of all groups of an axis run together (sim/network/flow.h)
//   coupled      the same prices, of which sim/pricing/couple.h makes flows that run beside the step
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "core/plan/work.h"
#include "core/spec/job.h"
#include "sim/network/closed_form.h"

namespace sim {

/// One prediction's network. Keeps what it worked out, so it is no thread's but its maker's.
class Network {
 public:
  virtual ~Network() = default;
  virtual NetworkPrice price(const plan::Collective&) = 0;
  virtual NetworkPrice price(const plan::Transfer&) = 0;
};

/// Of `fidelity` (spec::Network), with what is slow or lost. The cluster must outlive it. REQUIRES: a fidelity that
/// core/spec does not refuse; for flow, has_simgrid(). Throws base::InputError where it is not.
std::unique_ptr<Network> make_network(const spec::Cluster&, const spec::Network&, const spec::Outages& = {});

}  // namespace sim
