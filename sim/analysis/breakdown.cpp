// SPDX-License-Identifier: Apache-2.0
#include "sim/analysis/breakdown.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/plan/axes.h"
#include "sim/analysis/host_replay.h"

namespace sim {
namespace {

using trace::Span;
using trace::Ticks;

constexpr std::uint8_t kOptimizerPhase = 3;  // index into Trace::phases
constexpr int kMaxStreams = 128;             // as many as Span::waited_for can name

/// Of what no group of ranks does together.
Share share_of_stream(const std::string& name) {
  if (name == "storage") return Share::storage;
  if (name == "to device" || name == "to host" || name == "cpu") return Share::offload;
  return Share::compute;
}

/// Whether its groups are of ranks of one stage.
bool within_a_stage(Share share) {
  return share == Share::exposed_tp || share == Share::exposed_cp || share == Share::exposed_ep ||
         share == Share::exposed_dp;
}

/// What a wait for ranks beyond a stage is charged to.
Share others_of(const trace::Trace& trace) {
  const bool stages = std::any_of(trace.tracks.begin(), trace.tracks.end(), [](const auto& t) { return t.stage > 0; });
  return stages ? Share::bubble : Share::exposed_dp;
}

using Issues = std::vector<std::vector<Issue>>;

class Accountant {
 public:
  Accountant(const trace::Trace& trace, std::size_t first, Issues issues)
      : trace_(trace), first_(first), issues_(std::move(issues)), others_(others_of(trace)) {
    for (const std::string& name : trace.channels) shares_.push_back(share_of_channel(name));
  }

  WaitsAndShares run() {
    Ticks at = 0;
    const std::vector<Span>& spans = track(0).spans;
    for (std::size_t i = 0; i < spans.size(); ++i) {
      const Span& span = spans[i];
      if (span.start > at) explain(at, span.start, span, i);
      out_[static_cast<int>(span.phase == kOptimizerPhase ? Share::optimizer : Share::compute)] +=
          span.end - span.start;
      at = std::max(at, span.end);
    }
    finish(at);
    return {out_, waits_};
  }

 private:
  const trace::Track& track(int stream) const { return trace_.tracks[first_ + stream]; }
  Share share(const Span& span, int stream) const {
    return span.channel < 0 ? share_of_stream(track(stream).stream) : shares_[span.channel];
  }

  /// How many operators of a stream have ended at `to`. Asked for instants that go forth, with short steps back.
  std::ptrdiff_t ended(int stream, Ticks to) {
    const std::vector<Span>& spans = track(stream).spans;
    const auto count = static_cast<std::ptrdiff_t>(spans.size());
    std::ptrdiff_t& at = ended_[stream];
    while (at < count && spans[at].end <= to) ++at;
    while (at > 0 && spans[at - 1].end > to) --at;
    return at;
  }

  void add(Share share, Ticks from, Ticks to) {
    if (to > from) out_[static_cast<int>(share)] += to - from;
  }

  /// Charges [from, to) with the wait for another rank: of the own stage, to the group's share; of another, as a
  /// bubble, and where there is no other stage, to the replicas.
  void wait(Share group, Ticks from, Ticks to) {
    add(within_a_stage(group) ? group : others_, from, to);
    waits_ += std::max<Ticks>(0, to - from);
  }

  /// Why [from, to) passed before `span`, the `index`-th of the compute stream, which became ready or started at `to`.
  void explain(Ticks from, Ticks to, const Span& span, std::size_t index) {
    const Ticks ready = std::clamp(span.ready, from, to);
    wait(share(span, 0), ready, to);  // it was ready and had to wait for others
    if (ready == from) return;
    if (span.waited_for > 0) return blame(from, ready, span.waited_for);
    const Held held = host_since(from, ready, 0, index);  // issued only now
    if (held.stream >= 0) blame(from, held.at, held.stream);
  }

  /// What held the host up before it issued a stream's span at `ready`: on which stream, and until when.
  struct Held {
    Ticks at = 0;
    int stream = -1;  // -1: nothing did, since `from`
  };
  /// Charges the host with [from, ready) as far as it was busy: its launch queue may have been full, or it waited.
  Held host_since(Ticks from, Ticks ready, int stream, std::size_t index) {
    Held held{from, -1};
    if (!issues_.empty()) {
      const Issue& issue = issues_[stream][index];
      if (issue.stream >= 0) {
        const Ticks end = std::clamp(track(issue.stream).spans[issue.index].end, from, ready);
        if (end > from) held = {end, issue.stream};
      }
    }
    add(Share::host, held.at, ready);
    return held;
  }

  /// Charges [from, to) to the operator on `stream` that ended at `to`, and what lies before it to its own cause.
  void blame(Ticks from, Ticks to, int stream) {
    std::fill_n(seen_.begin(), trace_.streams, std::numeric_limits<std::ptrdiff_t>::max());
    while (to > from) {
      const std::vector<Span>& spans = track(stream).spans;
      // Operators without duration may wait for one another at one instant: each is looked at once.
      const std::ptrdiff_t at = std::min(ended(stream, to), seen_[stream]) - 1;
      if (at < 0 || spans[at].end <= from) return wait(Share::bubble, from, to);
      seen_[stream] = at;
      const Span& span = spans[at];
      wait(Share::bubble, span.end, to);
      const Ticks begun = std::max(from, span.start);
      add(share(span, stream), begun, span.end);
      const Ticks ready = std::clamp(span.ready, from, begun);
      wait(share(span, stream), ready, begun);  // its other members had not arrived
      if (ready == from) return;
      to = ready;
      if (span.waited_for == -2) {
        const Held held = host_since(from, ready, stream, static_cast<std::size_t>(at));
        if (held.stream < 0) return;
        stream = held.stream;
        to = held.at;
      } else if (span.waited_for == 0) {
        return wait(Share::bubble, from, ready);
      } else if (span.waited_for > 0) {
        stream = span.waited_for;  // otherwise: behind its predecessor on the same stream
      }
    }
  }

  /// After the last kernel: communication that is still under way, then waiting for the end of the step.
  void finish(Ticks at) {
    for (;;) {
      const Span* next = nullptr;
      int on = 0;
      for (int s = 1; s < trace_.streams; ++s) {
        const std::vector<Span>& spans = track(s).spans;
        const auto first = static_cast<std::size_t>(ended(s, at));
        if (first < spans.size() && (next == nullptr || spans[first].start < next->start)) {
          next = &spans[first];
          on = s;
        }
      }
      if (next == nullptr) break;
      const Ticks ready = std::clamp(next->ready, at, std::max(at, next->start));
      wait(Share::bubble, at, ready);
      wait(share(*next, on), ready, next->start);
      add(share(*next, on), std::max(at, next->start), next->end);
      at = next->end;
    }
    wait(Share::bubble, at, trace_.length);
  }

  const trace::Trace& trace_;
  std::size_t first_;
  Issues issues_;                                    // empty: what held the host up is not known
  const Share others_;                               // of a wait for ranks of no stage of its own
  std::vector<Share> shares_;                        // by channel
  std::array<std::ptrdiff_t, kMaxStreams> ended_{};  // of each stream: the last answer of ended()
  std::array<std::ptrdiff_t, kMaxStreams> seen_{};   // of each stream: the earliest operator that blame() has come to
  Breakdown out_{};
  Ticks waits_ = 0;
};

Share share_of(plan::Axis axis) {
  using plan::Axis;
  switch (axis) {
    case Axis::tp:
    case Axis::etp:
    case Axis::kv_copies: return Share::exposed_tp;
    case Axis::cp: return Share::exposed_cp;
    case Axis::ep: return Share::exposed_ep;
    case Axis::dp:
    case Axis::shard:
    case Axis::replicate:
    case Axis::expert_dp:
    case Axis::expert_shard:
    case Axis::expert_replicate: return Share::exposed_dp;
  }
  return Share::exposed_dp;
}

}  // namespace

Share share_of_channel(std::string_view name) {
  for (std::size_t axis = 0; axis < plan::kAxisNames.size(); ++axis) {
    if (plan::kAxisNames[axis] == name) return share_of(static_cast<plan::Axis>(axis));
  }
  if (name == "model") return Share::optimizer;  // the gradient norm is part of the update
  return Share::exposed_pp;
}

WaitsAndShares waits_and_shares(const trace::Trace& trace, std::size_t first) {
  return Accountant(trace, first, {}).run();
}

WaitsAndShares waits_and_shares(const trace::Trace& trace, const EngineInput& in, std::size_t first) {
  constexpr Ticks kWorthAReplay = 256;  // part of the step
  const WaitsAndShares plain = waits_and_shares(trace, first);
  if (plain.shares[static_cast<int>(Share::host)] < trace.length / kWorthAReplay) return plain;
  return Accountant(trace, first, replay_host(trace, in, first)).run();
}

}  // namespace sim
