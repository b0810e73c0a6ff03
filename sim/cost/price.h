// sim/cost/price.h -- the time of one work on one GPU. One operator family a file; this one names them all.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/units.h"
#include "core/plan/work.h"
#include "core/spec/calibration.h"
#include "core/spec/gpu.h"

namespace sim {

/// A GPU and its kernels' curves: all that a compute price depends on. A family that was not calibrated is priced on
/// the data sheet alone (sim/cost/curves.h).
struct Device {
  spec::Gpu gpu;
  spec::Calibration calibration;
  double slowest = 1;  // time on the slowest board of a step over that on the usual one, at least 1
};

struct Price {
  base::Seconds time;   // alone on the GPU, issue by the host not counted
  double residual = 0;  // standard deviation of log(price / measured) of its family
};

/// Pure functions of (work, device). Time never grows with bandwidth or FLOP/s. Sources stand in each family's header.
Price price(const plan::Matmul&, const Device&);
Price price(const plan::Attention&, const Device&);
Price price(const plan::MemoryBound&, const Device&);
Price price(const plan::Convolution&, const Device&);
Price price(const plan::Recurrence&, const Device&);
Price price(const plan::IndexScores&, const Device&);

}  // namespace sim
