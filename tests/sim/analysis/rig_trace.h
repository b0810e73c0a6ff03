// tests/sim/analysis/rig_trace.h -- the Trace of programs written by hand (tests/sim/engine/rig.h), which have steps
// but no operators: a span's name is the number of its step. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "tests/sim/engine/rig.h"

namespace rig {

inline trace::Trace trace_of(const sim::EngineInput& in) {
  sim::EngineOutput out = sim::run(in);
  trace::Trace trace;
  trace.streams = plan::kStreams;
  trace.length = out.end;
  for (std::size_t i = 0; i < in.instances.size(); ++i) {
    if (!in.instances[i].recorded) continue;
    for (int s = 0; s < plan::kStreams; ++s) {
      trace::Track& track = trace.tracks.emplace_back();
      track.rank = in.instances[i].rank;
      track.stage = in.plan->roles[in.instances[i].role].stage;
      track.spans = std::move(out.spans[i * plan::kStreams + s]);
      for (trace::Span& span : track.spans) {
        span.name = span.work;  // the engine tells its step there
        span.channel = in.steps[span.work].channel;
      }
    }
  }
  return trace;
}

}  // namespace rig
