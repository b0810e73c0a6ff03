// reports/html/gpu_use.h -- what the GPU of a role does with the time of the step.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/trace/trace.h"

namespace reports::html {

/// Ticks of the step, by what the GPU does: its kernels by phase, "communication" while no kernel computes, "idle"
/// while nothing runs at all. They add up to the Trace's length.
struct GpuUse {
  int rank = 0, stage = 0;
  std::map<std::string, trace::Ticks> ticks;
};

/// One for each role (rank) of the Trace.
std::vector<GpuUse> gpu_use(const trace::Trace&);

}  // namespace reports::html
