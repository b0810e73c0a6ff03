// real/measure/memberships.h -- which communicator a rank has for each channel of the Plan. Every channel has
// communicators of its own: operators of two channels may then run at the same time, on two streams, and their order
// among ranks is the Plan's alone. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "core/plan/context.h"
#include "core/plan/plan.h"

namespace real {

struct Membership {
  std::optional<int> color;  // equal for the members of one communicator: the first of them. None: not a member
  int key = 0;               // place among them
  std::vector<int> ranks;    // all of them, in the order of their keys
  bool one_way = false;      // an edge of the pipeline: the first sends, the second receives

  int place_of(int rank) const;  // -1: not a member
};

/// By channel. All ranks split the world's communicator once for each, in this order.
std::vector<Membership> memberships(const plan::Context&, const plan::Plan&, int rank);

}  // namespace real
