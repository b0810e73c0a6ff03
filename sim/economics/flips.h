// sim/economics/flips.h -- what would make another offer the chosen one: a price, a deadline, a budget, an outlay. All
// follow from formulas: a cost is linear in its price, and an offer is in time or not.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/result/purchase.h"
#include "sim/economics/choice.h"
#include "sim/economics/cost.h"

namespace sim {

/// An offer as its price makes it.
struct PricedOffer {
  std::string name;
  Offer offer;
  RunningCost cost;
  bool bought = false;
  std::string price_of;  // offers of one price move together
  double price = 0;      // of a GPU for an hour; bought: of a node
};

/// `best`: what choose() chose. For each price that is not `best`'s: below what another wins by it. For the price of
/// `best`: above what another wins. For the wishes: where they would have to lie for another to win.
std::vector<result::Flip> flips(const std::vector<PricedOffer>&, std::size_t best, const Wishes&);

}  // namespace sim
