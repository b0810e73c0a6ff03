// tests/sim/engine/rig.h -- programs written by hand for the engine: instances, their operators, who meets.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include "sim/engine/engine.h"

namespace rig {

using plan::Stream;
using sim::Step;
using trace::Ticks;

/// An operator of `duration` picoseconds; everything else is set on the result.
inline Step op(Stream stream, Ticks duration, std::vector<plan::EventId> waits = {}) {
  Step step;
  step.stream = static_cast<std::uint8_t>(stream);
  step.duration = duration;
  for (std::size_t w = 0; w < waits.size(); ++w) step.waits[w] = waits[w];
  return step;
}
inline Step with_host(Step step, Ticks host) {
  step.host = host;
  return step;
}
inline Step on_channel(Step step, int channel) {
  step.channel = static_cast<std::int16_t>(channel);
  return step;
}
inline Step holding(Step step, std::uint8_t resources) {
  step.resources = resources;
  return step;
}
inline Step recording(Step step, plan::EventId event) {
  step.records = event;
  return step;
}
inline Step synchronizing(Step step) {
  step.synchronizes = true;
  return step;
}

/// One role, one instance and one segment for each program. The plan lies behind a stable address, as EngineInput wants
/// it.
class Programs {
 public:
  explicit Programs(std::vector<std::vector<Step>> programs, int channels = 0) {
    plan_.channels.resize(channels);
    for (std::size_t i = 0; i < programs.size(); ++i) {
      const int segment = add_segment(programs[i]);
      add_instance({{segment, 0, 0}});
    }
  }
  Programs(const Programs&) = delete;

  int add_segment(const std::vector<Step>& steps) {
    in.segment_begin.resize(plan_.segments.size());
    in.segment_begin.push_back(static_cast<std::int32_t>(in.steps.size()));
    in.steps.insert(in.steps.end(), steps.begin(), steps.end());
    in.segment_begin.push_back(static_cast<std::int32_t>(in.steps.size()));
    plan_.segments.emplace_back().operators.resize(steps.size());
    return static_cast<int>(plan_.segments.size()) - 1;
  }
  void add_instance(std::vector<plan::Call> calls) {
    plan::Role role;
    role.stage = role.first_rank = static_cast<int>(plan_.roles.size());
    role.calls = std::move(calls);
    plan_.roles.push_back(std::move(role));
    sim::Instance instance;
    instance.role = instance.rank = static_cast<int>(in.instances.size());
    in.instances.push_back(instance);
    in.meeting_of.resize(in.instances.size() * plan_.channels.size(), -1);
    in.plan = &plan_;
  }
  /// These instances meet on `channel`.
  void meet(int channel, const std::vector<int>& members) {
    for (const int i : members) {
      in.meeting_of[i * plan_.channels.size() + channel] = static_cast<std::int32_t>(in.meeting_size.size());
    }
    in.meeting_size.push_back(static_cast<std::int32_t>(members.size()));
  }

  sim::EngineInput in;

 private:
  plan::Plan plan_;
};

/// Spans of one instance on one stream.
inline const std::vector<trace::Span>& spans(const sim::EngineOutput& out, int instance, Stream stream) {
  return out.spans[instance * plan::kStreams + static_cast<int>(stream)];
}

}  // namespace rig
