// SPDX-License-Identifier: Apache-2.0
#include "sim/analysis/host_replay.h"

#include <algorithm>

namespace sim {
namespace {

struct Completion {
  Ticks at = 0, start = 0;  // of those that end together, what took no time may have been let go by the others
  std::int32_t stream = -1, index = -1;
  auto operator<=>(const Completion&) const = default;
};

/// Calls body(step) for each step that the rank issues, in order.
template <class Body>
void for_each_step(const trace::Trace& trace, const EngineInput& in, std::size_t first, Body body) {
  const Instance& instance = in.instance_of(trace.tracks[first].rank);
  const std::int32_t* begin = in.segments_of(instance.variant);
  for (const plan::Call& call : in.plan->roles[instance.role].calls) {
    for (std::int32_t at = begin[call.segment]; at < begin[call.segment + 1]; ++at) body(in.steps[at]);
  }
}

/// When so many operators had ended, whichever they were.
class Ended {
 public:
  Ended(const trace::Trace& trace, const EngineInput& in, std::size_t first)
      : trace_(trace), first_(first), operators_(trace.streams) {
    for_each_step(trace, in, first, [&](const Step& step) { operators_[step.stream].push_back(step.operators); });
    for (int s = 0; s < trace.streams; ++s) {
      if (!operators_[s].empty()) heads_.push_back(completion(s, 0));
    }
  }

  /// The completion by which `count` had. Asked for counts that grow. REQUIRES: as many are issued.
  const Completion& of(std::int64_t count) {
    while (ended_ < count) pass();
    return last_;
  }

 private:
  Completion completion(std::int32_t stream, std::int32_t index) const {
    const trace::Span& span = trace_.tracks[first_ + stream].spans[index];
    return {span.end, span.start, stream, index};
  }

  void pass() {
    const auto next = std::min_element(heads_.begin(), heads_.end());
    last_ = *next;
    const std::vector<std::uint16_t>& operators = operators_[last_.stream];
    ended_ += operators[last_.index];
    const std::int32_t behind = last_.index + 1;
    if (static_cast<std::size_t>(behind) < operators.size()) {
      *next = completion(last_.stream, behind);
    } else {
      heads_.erase(next);
    }
  }

  const trace::Trace& trace_;
  std::size_t first_;
  std::vector<std::vector<std::uint16_t>> operators_;  // of each span, by stream
  std::vector<Completion> heads_;                      // of each stream the next to end: streams are FIFO
  Completion last_;
  std::int64_t ended_ = 0;
};

}  // namespace

std::vector<std::vector<Issue>> replay_host(const trace::Trace& trace, const EngineInput& in, std::size_t first) {
  Ended ended(trace, in, first);
  std::vector<std::vector<Issue>> out(trace.streams);
  for (int s = 0; s < trace.streams; ++s) out[s].reserve(trace.tracks[first + s].spans.size());

  Issue host{in.host_start, -1, -1};
  const auto waits_for = [&](const Completion& c) {
    if (c.at > host.at) host = {c.at, c.stream, c.index};
  };
  std::int64_t issued = 0;
  for_each_step(trace, in, first, [&](const Step& step) {
    if (issued >= kLaunchQueue) waits_for(ended.of(issued - kLaunchQueue + 1));  // room in the launch queue
    host.at += step.host;
    const auto index = static_cast<std::int32_t>(out[step.stream].size());
    out[step.stream].push_back(host);
    host.at += step.host_behind;
    issued += step.operators;
    if (!step.synchronizes) return;
    const trace::Span& awaited = trace.tracks[first + step.stream].spans[index];
    waits_for({awaited.end, awaited.start, step.stream, index});
  });
  return out;
}

}  // namespace sim
