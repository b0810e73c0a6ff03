// core/plan/schedule/schedule.h -- in which order a stage runs its microbatches. One schedule a file; order() names
// them all. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/spec/strategy.h"

namespace plan {

/// One forward or backward of one microbatch through one of the stage's chunks.
struct Slot {
  bool backward = false;
  int microbatch = 0;
  int chunk = 0;
  bool operator==(const Slot&) const = default;
};

/// What of the pipeline an order depends on.
struct Pipeline {
  int stage = 0, stages = 1, chunks = 1;
  int microbatches = 1;
};

/// Every forward before any backward. Huang et al., arXiv 1811.06965.
std::vector<Slot> gpipe(const Pipeline&);
/// A stage forwards as many microbatches as there are stages behind it, then one forward, one backward. Narayanan et
/// al., SC'21, arXiv 2104.04473, fig. 4 above (PipeDream-flush).
std::vector<Slot> one_f_one_b(const Pipeline&);
/// The same with several chunks a stage; microbatches go through them in groups of `stages`. Narayanan et al., fig. 4
/// below. REQUIRES: microbatches a multiple of `stages`, as in Megatron, or no more than them; stages can wait for one
/// another for ever behind a smaller last group (check() refuses it).
std::vector<Slot> interleaved(const Pipeline&);

/// REQUIRES: a schedule that this version supports (spec::check).
std::vector<Slot> order(spec::Schedule, const Pipeline&);

}  // namespace plan
