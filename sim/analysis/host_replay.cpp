// SPDX-License-Identifier: Apache-2.0
#include "sim/analysis/host_replay.h"

#include <algorithm>

namespace sim {
namespace {

struct Completion {
  Ticks at = 0;
  std::int32_t stream = -1, index = -1;
  auto operator<=>(const Completion&) const = default;
};

std::vector<Completion> completions(const trace::Trace& trace, std::size_t first) {
  std::vector<Completion> out;
  for (int s = 0; s < trace.streams; ++s) {
    const std::vector<trace::Span>& spans = trace.tracks[first + s].spans;
    for (std::size_t i = 0; i < spans.size(); ++i) out.push_back({spans[i].end, s, static_cast<std::int32_t>(i)});
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

std::vector<std::vector<Issue>> replay_host(const trace::Trace& trace, const EngineInput& in, std::size_t first) {
  const std::vector<Completion> ended = completions(trace, first);
  std::vector<std::vector<Issue>> out(trace.streams);
  for (int s = 0; s < trace.streams; ++s) out[s].reserve(trace.tracks[first + s].spans.size());

  Issue host{in.host_start, -1, -1};
  const auto waits_for = [&](const Completion& c) {
    if (c.at > host.at) host = {c.at, c.stream, c.index};
  };
  std::size_t issued = 0;
  const Instance& instance = in.instance_of(trace.tracks[first].rank);
  const std::int32_t* begin = in.segments_of(instance.variant);
  for (const plan::Call& call : in.plan->roles[instance.role].calls) {
    for (std::int32_t at = begin[call.segment]; at < begin[call.segment + 1]; ++at, ++issued) {
      const Step& step = in.steps[at];
      if (issued >= kLaunchQueue) waits_for(ended[issued - kLaunchQueue]);  // room in the launch queue
      host.at += step.host;
      const auto index = static_cast<std::int32_t>(out[step.stream].size());
      out[step.stream].push_back(host);
      if (step.synchronizes) waits_for({trace.tracks[first + step.stream].spans[index].end, step.stream, index});
    }
  }
  return out;
}

}  // namespace sim
