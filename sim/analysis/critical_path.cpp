// SPDX-License-Identifier: Apache-2.0
#include "sim/analysis/critical_path.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>

#include "sim/analysis/host_replay.h"

namespace sim {
namespace {

using trace::Span;
using Cause = PathPiece::Cause;

constexpr std::int8_t kHost = -2;  // Span::waited_for

struct Place {
  std::size_t track = 0;
  std::ptrdiff_t index = -1;  // -1: nothing
};

/// Finds the member of a meeting that came last.
class Arrivals {
 public:
  Arrivals(const trace::Trace& trace, const EngineInput& in) : in_(in), last_(in.meeting_size.size()) {
    for (std::size_t i = 0; i < in.instances.size(); ++i) {
      if (in.instances[i].recorded) instances_.push_back(i);
    }
    for (std::size_t t = 0; t < trace.tracks.size(); ++t) {
      const std::vector<Span>& spans = trace.tracks[t].spans;
      for (std::size_t i = 0; i < spans.size(); ++i) {
        if (spans[i].channel < 0 || spans[i].ready < spans[i].start) continue;
        const int meeting = meeting_of(t / trace.streams, spans[i].channel);
        if (meeting >= 0) last_[meeting].push_back({spans[i].start, {t, static_cast<std::ptrdiff_t>(i)}});
      }
    }
    for (auto& meeting : last_) std::stable_sort(meeting.begin(), meeting.end(), earlier);
  }

  /// Of the meeting that began at `start`; nothing when that rank's spans were not kept.
  std::optional<Place> last(std::size_t recorded, const Span& span) const {
    const int meeting = meeting_of(recorded, span.channel);
    if (meeting < 0) return {};
    const auto at = std::lower_bound(last_[meeting].begin(), last_[meeting].end(), Arrival{span.start, {}}, earlier);
    if (at == last_[meeting].end() || at->start != span.start) return {};
    return at->place;
  }

 private:
  struct Arrival {
    Ticks start = 0;
    Place place;
  };
  static bool earlier(const Arrival& a, const Arrival& b) { return a.start < b.start; }
  int meeting_of(std::size_t recorded, int channel) const {
    return channel < 0 ? -1 : in_.meeting_of[instances_[recorded] * in_.plan->channels.size() + channel];
  }

  const EngineInput& in_;
  std::vector<std::size_t> instances_;      // whose spans were kept, in the order of the tracks
  std::vector<std::vector<Arrival>> last_;  // by meeting
};

/// All ranks on one clock.
trace::Trace on_one_clock(trace::Trace trace) {
  for (trace::Track& track : trace.tracks) {
    for (Span& span : track.spans) {
      for (Ticks* instant : {&span.ready, &span.start, &span.end}) *instant += track.later;
    }
  }
  return trace;
}

/// Without a barrier between steps the path is one period of them, up to the end of the rank that is busy longest by
/// its own clock. Before a rank's clock starts it is at the end of the step before, which is like this one: the walk
/// goes on there, a period later.
class Walk {
 public:
  /// REQUIRES: a trace on one clock.
  Walk(const trace::Trace& trace, const EngineInput& in)
      : trace_(trace), in_(in), arrivals_(trace, in), seen_(trace.tracks.size(), kNotSeen) {}

  std::vector<PathPart> run() {
    at_ = end_of_step();
    begin_ = at_.index < 0 ? 0 : trace_.tracks[at_.track].later;
    to_ = begin_ + trace_.length;
    while (to_ > begin_ && at_.index >= 0) {
      here_ = &span_at(at_);
      add(Cause::waiting, here_->end);  // nothing, unless the trace does not say what passed in between
      seen_[at_.track] = at_.index;
      add(Cause::work, here_->start);
      if (here_->ready < here_->start) meet();
      at_ = cause();
    }
    if (to_ > begin_) add(Cause::waiting, begin_);
    std::vector<PathPart> out;
    for (const auto& [piece, sum] : sums_) out.push_back({piece, sum.time, sum.count, sum.whole});
    return out;
  }

 private:
  static constexpr std::ptrdiff_t kNotSeen = std::numeric_limits<std::ptrdiff_t>::max();

  const Span& span_at(Place p) const { return trace_.tracks[p.track].spans[p.index]; }
  std::size_t first_track() const { return at_.track - at_.track % trace_.streams; }

  /// Charges [from, to_) and goes there.
  void add(Cause why, Ticks from) {
    from = std::max(from, begin_);
    if (why != Cause::work && from >= to_) return;
    PathPiece piece{why, trace_.tracks[at_.track].stage, here_->name, -1, -1, here_->phase};
    if (why == Cause::work) {
      piece.work = here_->work;
      piece.channel = here_->channel;
    }
    from = std::min(from, to_);
    Sum& sum = sums_[piece];
    sum.time += to_ - from;
    ++sum.count;
    const bool cut = why == Cause::work && from > here_->start && here_->end > here_->start;
    sum.whole += cut ? static_cast<double>(to_ - from) / static_cast<double>(here_->end - here_->start) : 1;
    to_ = from;
  }

  Place end_of_step() const {
    Place best;
    for (std::size_t t = 0; t < trace_.tracks.size(); ++t) {
      const std::vector<Span>& spans = trace_.tracks[t].spans;
      if (spans.empty()) continue;
      const Place last{t, static_cast<std::ptrdiff_t>(spans.size()) - 1};
      if (best.index < 0 || by_own_clock(last) > by_own_clock(best)) best = last;
    }
    return best;
  }
  Ticks by_own_clock(Place p) const { return span_at(p).end - trace_.tracks[p.track].later; }

  /// It was ready before it began: goes to the rank that came last.
  void meet() {
    const auto last = arrivals_.last(at_.track / trace_.streams, *here_);
    if (last && fresh(*last)) {
      at_ = *last;
      here_ = &span_at(at_);
      seen_[at_.track] = at_.index;
    } else {
      add(Cause::waiting, here_->ready);
    }
  }

  /// Operators without duration may wait for one another at one instant: on each stream the walk only goes back.
  bool fresh(Place p) const { return p.index < seen_[p.track]; }

  /// What ended when here_ became ready.
  Place cause() {
    const Place before{at_.track, at_.index - 1};
    const bool behind = here_->waited_for == -1 && before.index >= 0 && span_at(before).end >= here_->ready;
    if (behind) return before;
    return here_->waited_for >= 0 ? ended_on(first_track() + here_->waited_for) : host();
  }

  Place ended_on(std::size_t track) const {
    const std::vector<Span>& spans = trace_.tracks[track].spans;
    const auto behind =
        std::upper_bound(spans.begin(), spans.end(), to_, [](Ticks t, const Span& s) { return t < s.end; });
    return {track, std::min(behind - spans.begin(), seen_[track]) - 1};
  }

  /// The host was issuing operators since something last held it up.
  Place host() {
    const std::size_t first = first_track();
    auto [replay, is_new] = hosts_.try_emplace(first);
    if (is_new) replay->second = replay_host(trace_, in_, first);
    const Issue& issue = replay->second[at_.track - first][at_.index];
    const Place before{first + std::max(issue.stream, 0), issue.index};
    const bool held = issue.index >= 0 && fresh(before);
    add(Cause::host, held ? span_at(before).end : trace_.tracks[first].later);
    if (held) return before;
    return in_.plan->rolling && to_ > begin_ ? step_before(first) : Place{};
  }

  /// The rank's last operator of the step before; nothing where the walk has been round often enough to tell that no
  /// time passes on its way.
  Place step_before(std::size_t first) {
    if (++rounds_ > trace_.tracks.size()) return {};
    to_ += trace_.length;
    begin_ += trace_.length;
    seen_.assign(seen_.size(), kNotSeen);
    Place last;
    for (int stream = 0; stream < trace_.streams; ++stream) {
      const Place ended = ended_on(first + stream);
      if (ended.index >= 0 && (last.index < 0 || span_at(ended).end > span_at(last).end)) last = ended;
    }
    return last;
  }

  const trace::Trace& trace_;
  const EngineInput& in_;
  Arrivals arrivals_;
  std::vector<std::ptrdiff_t> seen_;                              // by track: how far back the walk has come
  std::map<std::size_t, std::vector<std::vector<Issue>>> hosts_;  // by first track
  struct Sum {
    Ticks time = 0;
    std::int64_t count = 0;
    double whole = 0;
  };
  std::map<PathPiece, Sum> sums_;
  Place at_;
  const Span* here_ = nullptr;
  Ticks begin_ = 0, to_ = 0;
  std::size_t rounds_ = 0;
};

}  // namespace

void keep_spans(EngineInput& in) {
  constexpr std::int64_t kMost = 20'000'000;  // about a gigabyte
  if (in.spans() > kMost) return;
  for (Instance& instance : in.instances) instance.recorded = true;
}

std::vector<PathPart> critical_path(const trace::Trace& trace, const EngineInput& in) {
  return in.plan->rolling ? Walk(on_one_clock(trace), in).run() : Walk(trace, in).run();
}

}  // namespace sim
