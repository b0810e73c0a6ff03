// sim/network/network.cpp -- see network.h.
// SPDX-License-Identifier: Apache-2.0
#include "sim/network/network.h"

#include "core/base/fault.h"
#include "sim/network/flow.h"
#include "sim/network/simgrid.h"

namespace sim {
namespace {

template <class Rates>
class AlphaBeta final : public Network {
 public:
  AlphaBeta(const spec::Cluster& cluster, const spec::Outages& outages, spec::Algorithm wanted)
      : rates_(cluster, outages), wanted_(wanted) {}
  NetworkPrice price(const plan::Collective& work) override { return sim::price(work, rates_, wanted_); }
  NetworkPrice price(const plan::Transfer& work) override { return sim::price(work, rates_); }

 private:
  Rates rates_;
  spec::Algorithm wanted_;
};

}  // namespace

std::unique_ptr<Network> make_network(const spec::Cluster& cluster, const spec::Network& network,
                                      const spec::Outages& outages) {
  if (network.fidelity == spec::Fidelity::closed_form)
    return std::make_unique<AlphaBeta<Paths>>(cluster, outages, network.algorithm);
  if (!has_simgrid()) {
    throw base::InputError({{"network.fidelity", "this forerun was built without SimGrid, which runs the flows",
                             "install SimGrid and build again, or write fidelity: closed_form"}});
  }
  return std::make_unique<AlphaBeta<FlowPaths>>(cluster, outages, network.algorithm);
}

}  // namespace sim
