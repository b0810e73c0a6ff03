// SPDX-License-Identifier: Apache-2.0
#include "sim/analysis/breakdown.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

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

class Accountant {
 public:
  Accountant(const trace::Trace& trace, std::size_t first) : trace_(trace), first_(first) {
    for (const std::string& name : trace.channels) shares_.push_back(share_of_channel(name));
  }

  Breakdown run() {
    Ticks at = 0;
    for (const Span& span : track(0).spans) {
      if (span.start > at) explain(at, span.start, span);
      out_[static_cast<int>(span.phase == kOptimizerPhase ? Share::optimizer : Share::compute)] +=
          span.end - span.start;
      at = std::max(at, span.end);
    }
    finish(at);
    return out_;
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

  /// Why [from, to) passed before `span`, which became ready or started at `to`.
  void explain(Ticks from, Ticks to, const Span& span) {
    const Ticks ready = std::clamp(span.ready, from, to);
    add(Share::bubble, ready, to);  // it was ready and had to wait for others
    if (ready == from) return;
    if (span.waited_for == -2) return add(Share::host, from, ready);
    if (span.waited_for > 0) return blame(from, ready, span.waited_for);
    add(Share::host, from, ready);  // issued only now
  }

  /// Charges [from, to) to the operator on `stream` that ended at `to`, and what lies before it to its own cause.
  void blame(Ticks from, Ticks to, int stream) {
    std::fill_n(seen_.begin(), trace_.streams, std::numeric_limits<std::ptrdiff_t>::max());
    while (to > from) {
      const std::vector<Span>& spans = track(stream).spans;
      // Operators without duration may wait for one another at one instant: each is looked at once.
      const std::ptrdiff_t at = std::min(ended(stream, to), seen_[stream]) - 1;
      if (at < 0 || spans[at].end <= from) return add(Share::bubble, from, to);
      seen_[stream] = at;
      const Span& span = spans[at];
      add(Share::bubble, span.end, to);
      const Ticks begun = std::max(from, span.start);
      add(share(span, stream), begun, span.end);
      const Ticks ready = std::clamp(span.ready, from, begun);
      add(Share::bubble, ready, begun);  // its other members had not arrived
      if (ready == from) return;
      if (span.waited_for == -2) return add(Share::host, from, ready);
      if (span.waited_for == 0) return add(Share::bubble, from, ready);
      if (span.waited_for > 0) stream = span.waited_for;  // otherwise: behind its predecessor on the same stream
      to = ready;
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
      add(Share::bubble, at, next->start);
      add(share(*next, on), std::max(at, next->start), next->end);
      at = next->end;
    }
    add(Share::bubble, at, trace_.length);
  }

  const trace::Trace& trace_;
  std::size_t first_;
  std::vector<Share> shares_;                        // by channel
  std::array<std::ptrdiff_t, kMaxStreams> ended_{};  // of each stream: the last answer of ended()
  std::array<std::ptrdiff_t, kMaxStreams> seen_{};   // of each stream: the earliest operator that blame() has come to
  Breakdown out_{};
};

}  // namespace

Share share_of_channel(std::string_view name) {
  if (name == "tp" || name == "etp" || name == "kv copies") return Share::exposed_tp;
  if (name == "cp") return Share::exposed_cp;
  if (name == "ep") return Share::exposed_ep;
  for (const std::string_view data : {"dp", "shard", "replicate", "expert dp", "expert shard", "expert replicate"}) {
    if (name == data) return Share::exposed_dp;
  }
  if (name == "model") return Share::optimizer;  // the gradient norm is part of the update
  return Share::exposed_pp;
}

Breakdown breakdown(const trace::Trace& trace, std::size_t first) { return Accountant(trace, first).run(); }

}  // namespace sim
