// real/executor/place.h -- where a rank stands: its stage, its place along every axis, whom it meets on a channel, and
// which samples are its own. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "core/plan/context.h"
#include "core/plan/plan.h"
#include "real/executor/backend.h"

namespace real {

class Place {
 public:
  Place(const plan::Context& c, const plan::Plan& plan, int rank) : c_(c), plan_(plan), rank_(rank) {}

  int rank() const { return rank_; }
  int stage() const { return plan_.axes.stage_of(rank_); }
  int coordinate(plan::Axis axis) const;
  int size(plan::Axis axis) const { return plan_.axes[axis].size; }
  int tp() const { return coordinate(plan::Axis::tp); }
  int cp() const { return coordinate(plan::Axis::cp); }
  /// Which replica of the data this is: ranks of equal replica read the same sequences.
  int replica() const;

  /// REQUIRES: a channel that this rank takes part in, no edge.
  Group group(int channel) const;
  Group group_of(plan::Axis axis, int channel) const;
  /// The rank at the same place of another stage.
  int neighbour(int stage) const { return plan_.axes.rank_of(stage, place()); }

  /// Ranks whose sums of squared gradients are added to one norm.
  std::vector<int> model_ranks() const;
  Place of(int rank) const { return Place(c_, plan_, rank); }

  /// The first sequence, in the step's global batch, of a microbatch that enters the model with `chunk`.
  std::int64_t first_sequence(int microbatch, int chunk) const;

 private:
  int place() const { return plan_.axes.place_of(rank_); }

  const plan::Context& c_;
  const plan::Plan& plan_;
  int rank_;
};

}  // namespace real
