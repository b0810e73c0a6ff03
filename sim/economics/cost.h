// sim/economics/cost.h -- what a cluster costs while it trains. Linear in the time, and linear in its price, so that
// the price at which two candidates tie is a formula. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "core/base/money.h"
#include "core/spec/purchase.h"

namespace sim {

/// Of a second.
struct RunningCost {
  base::TimePrice of_price;  // grows with the price: the rent of every GPU, or the nodes' price over the time they earn
  base::TimePrice beside;    // electricity of owned nodes; rent includes it
  base::Money over(base::Seconds time) const { return of_price * time + beside * time; }
  /// How many times the price could be for a run of `time` to cost `target`; at most 0: no price is low enough.
  double price_factor(base::Money target, base::Seconds time) const;
};

/// `nodes`: spares included. REQUIRES: the candidate's rent, or its price and its node's power.
RunningCost running_cost(const spec::Candidate&, const spec::Ownership&, int nodes);

/// Nodes at their rated power and what the building adds; nothing where the node's power is unknown.
base::Watts power_of(const spec::Candidate&, const spec::Ownership&, int nodes);

/// Time of use after which a node's price is what renting its GPUs would have cost beyond the electricity that owning
/// takes; nothing where rent is below the electricity, or the candidate has not both prices and a known power.
std::optional<base::Seconds> break_even(const spec::Candidate&, const spec::Ownership&);

}  // namespace sim
