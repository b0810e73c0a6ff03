// sim/cost/index_scores.cpp -- the formula of the header.
// SPDX-License-Identifier: Apache-2.0
#include "sim/cost/index_scores.h"

#include <algorithm>

#include "core/plan/moved_bytes.h"
#include "sim/cost/curves.h"
#include "sim/cost/power.h"

namespace sim {

Price price_index_scores(const plan::IndexScores& w, const Device& device) {
  const spec::AttentionCurve& curve = attention_curve(device.calibration, spec::AttentionKernel::sparse);
  const double share = w.chosen == 0 ? curve.index : w.backward ? curve.backward : curve.forward;
  const double rate = share * sustained_pace(device) * device.gpu.peak_of(w.dtype).si();
  const double math = plan::hardware_flops(w) / rate;
  const spec::MemoryCurve& copy = memory_curve(device.calibration, plan::MemoryBound::Kind::copy);
  const double memory = static_cast<double>(plan::moved_bytes(w)) / (copy.efficiency * device.gpu.hbm.si());
  return {curve.overhead * (w.backward ? 2 : 1) + base::Seconds(std::max(math, memory)), curve.from.residual};
}

}  // namespace sim
