// sim/cost/memory_bound.cpp -- the formula of the header.
// SPDX-License-Identifier: Apache-2.0
#include "sim/cost/memory_bound.h"

#include "sim/cost/curves.h"

namespace sim {

Price price_memory_bound(const plan::MemoryBound& w, const Device& device) {
  const spec::MemoryCurve& curve = memory_curve(device.calibration, w.kind);
  const base::Bytes moved(static_cast<double>(w.read) + static_cast<double>(w.written));
  const base::Seconds waits(1e-9 * static_cast<double>(w.waits));
  return {curve.overhead * w.kernels + waits + moved / (device.gpu.hbm * curve.efficiency), curve.from.residual};
}

}  // namespace sim
