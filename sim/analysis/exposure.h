// sim/analysis/exposure.h -- the time of a rank's step by the curve that prices it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "core/spec/job.h"
#include "core/trace/trace.h"
#include "sim/analysis/breakdown.h"
#include "sim/engine/engine.h"

namespace sim {

struct Exposed {
  double time_s = 0;
  double error_s = 0;  // one standard deviation of it, all its works off by theirs together
};

/// By Family::name, and under kHostCause and kInterferenceCause what is no work's own. Kernels count with all their
/// time; communication and copies with what of them nothing hides, parted among the works of an axis by their
/// closed-form prices. Bubbles are left out. `first` and `shares` as breakdown() has them.
std::map<std::string, Exposed> exposure(const spec::Job&, const EngineInput&, const trace::Trace&, std::size_t first,
                                        const Breakdown& shares);

inline constexpr const char* kHostCause = "host";
inline constexpr const char* kInterferenceCause = "kernels beside communication";

}  // namespace sim
