// sim/analysis/work_rate.h -- how much an operator does, and how long the data sheet says that it must take.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <vector>

#include "core/base/units.h"
#include "core/plan/plan.h"
#include "core/plan/work.h"
#include "core/spec/cluster.h"

namespace sim {

struct WorkRate {
  enum class Unit { none, flops, bytes } unit = Unit::none;
  double amount = 0;  // FLOPs; bytes of HBM; bytes on the bus as nccl-tests counts them
  base::Seconds
      at_peak;  // at the full rate of what the work waits for: matrix units, HBM, or the slowest link on its way
};

/// By each stage's own GPUs and links. Where it stands on several kinds of node: by the slowest, at whose pace one rank
/// runs for all that are folded into it; by the fastest where every rank runs by itself, so that none is above its
/// peak.
class StageRates {
 public:
  StageRates(const plan::Plan&, const spec::Cluster&, bool folded);
  WorkRate rate_of(const plan::Work&, int stage) const;

 private:
  std::vector<spec::Cluster> kinds_;       // as if all nodes were of that one
  std::map<int, std::set<int>> of_stage_;  // indices into kinds_
  bool folded_;
};

}  // namespace sim
