// sim/economics/choice.h -- which offer to take, and the front of time against cost.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/base/money.h"

namespace sim {

struct Offer {
  bool possible = true;
  base::Seconds time, time_high;  // one run in ten takes longer than the second
  base::Money cost, cost_high;
  base::Money outlay = {};  // bought: of all its nodes at once
};

struct Wishes {
  std::optional<base::Seconds> deadline;
  std::optional<base::Money> budget;
  std::optional<base::Money> outlay = {};
  /// With a budget alone as fast as it allows; otherwise as cheap as the deadline allows.
  bool fastest() const { return budget && !deadline; }
};

bool in_time(const Offer&, const Wishes&);
bool in_budget(const Offer&, const Wishes&);
bool in_outlay(const Offer&, const Wishes&);

/// Whether one is cheaper (or faster, where that is wished), of equals the faster (or cheaper).
bool better(const Offer&, const Offer& than, const Wishes&);

/// The best of those that keep all wishes in nine runs of ten; of equals the first.
std::optional<std::size_t> choose(const std::vector<Offer>&, const Wishes&);

/// For each offer, whether no other is at least as fast and as cheap and better in one of them.
std::vector<bool> front(const std::vector<Offer>&);

}  // namespace sim
