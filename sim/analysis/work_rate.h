// sim/analysis/work_rate.h -- how much an operator does, and how long the data sheet says that it must take.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/units.h"
#include "core/plan/work.h"
#include "core/spec/cluster.h"

namespace sim {

struct WorkRate {
  enum class Unit { none, flops, bytes } unit = Unit::none;
  double amount = 0;  // FLOPs; bytes of HBM; bytes on the bus as nccl-tests counts them
  base::Seconds
      at_peak;  // at the full rate of what the work waits for: matrix units, HBM, or the slowest link on its way
};

WorkRate rate_of(const plan::Work&, const spec::Cluster&);

}  // namespace sim
