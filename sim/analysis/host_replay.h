// sim/analysis/host_replay.h -- when a rank's host issued each operator, and what had made it wait before: the engine's
// host, replayed from the Trace, which keeps only what ran on streams. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/engine/engine.h"

namespace sim {

struct Issue {
  trace::Ticks at = 0;       // the host was done with issuing it
  std::int32_t stream = -1;  // the operator whose end last let the host go on, at that instant ...
  std::int32_t index = -1;   // ... as a span of that stream; -1: the host has been busy since the step began
};

/// [stream][span], operators or chains of them (sim/engine/chains.h), for the rank whose tracks begin at
/// trace.tracks[first]. REQUIRES: the trace is of that input.
std::vector<std::vector<Issue>> replay_host(const trace::Trace&, const EngineInput&, std::size_t first);

}  // namespace sim
