// SPDX-License-Identifier: Apache-2.0
#include "sim/against/step_parts.h"

#include <algorithm>
#include <numeric>

namespace sim {
namespace {

using trace::Span;
using trace::Ticks;

/// A span that a gap may be charged to.
struct Candidate {
  const Span* span = nullptr;
  Charge* charge = nullptr;
};

Ticks busy(const trace::Track& track) {
  return std::accumulate(track.spans.begin(), track.spans.end(), Ticks{0},
                         [](Ticks sum, const Span& span) { return sum + span.end - span.start; });
}

class Cutter {
 public:
  Cutter(const trace::Trace& trace, std::size_t first, Ticks begin, Ticks end)
      : tracks_(trace.tracks.data() + first), count_(static_cast<std::size_t>(trace.streams)), at_(begin), end_(end) {
    out_.main = main_track();
    for (std::size_t t = 0; t < count_; ++t) out_.charges.emplace_back(tracks_[t].spans.size());
    out_.idle.resize(tracks_[out_.main].spans.size() + 1);
    passed_.resize(count_);
  }

  StepParts run() && {
    const std::vector<Span>& spans = tracks_[out_.main].spans;
    for (std::size_t i = 0; i < spans.size(); ++i) {
      cross_gap(i, std::max(at_, spans[i].ready));
      charge(out_.charges[out_.main][i], spans[i], at_, std::max(at_, spans[i].end));
      at_ = std::max(at_, spans[i].end);
    }
    cross_gap(spans.size(), std::max(at_, end_));
    return std::move(out_);
  }

 private:
  std::size_t main_track() const {
    const auto named = std::find_if(tracks_, tracks_ + count_, [](const auto& t) { return t.stream == "compute"; });
    if (named != tracks_ + count_) return static_cast<std::size_t>(named - tracks_);
    const auto longest =
        std::max_element(tracks_, tracks_ + count_, [](const auto& a, const auto& b) { return busy(a) < busy(b); });
    return static_cast<std::size_t>(longest - tracks_);
  }

  static void charge(Charge& to, const Span& span, Ticks from, Ticks until) {
    to.waiting += std::max<Ticks>(0, std::min(until, span.start) - from);
    to.work += std::max<Ticks>(0, until - std::max(from, span.start));
  }

  /// Operators of other streams that end in (at_, until], each of them in one gap at most; the last one first.
  std::vector<Candidate> ended_until(Ticks until) {
    std::vector<Candidate> out;
    for (std::size_t t = 0; t < count_; ++t) {
      if (t == out_.main) continue;
      const std::vector<Span>& spans = tracks_[t].spans;
      for (std::size_t& i = passed_[t]; i < spans.size() && spans[i].end <= until; ++i) {
        if (spans[i].end > at_) out.push_back({&spans[i], &out_.charges[t][i]});
      }
    }
    std::stable_sort(out.begin(), out.end(),
                     [](const Candidate& a, const Candidate& b) { return a.span->end > b.span->end; });
    return out;
  }

  /// [at_, until) of the main track, which ends before its span of this number.
  void cross_gap(std::size_t span, Ticks until) {
    if (until <= at_) return;
    Ticks left = until;  // [left, until) is charged
    for (const Candidate& one : ended_until(until)) {
      if (one.span->end < left) {
        out_.idle[span] += left - one.span->end;
        left = one.span->end;
      }
      const Ticks from = std::max(at_, std::min(one.span->ready, one.span->start));
      if (from >= left) continue;
      charge(*one.charge, *one.span, from, left);
      left = from;
    }
    out_.idle[span] += left - at_;
    at_ = until;
  }

  const trace::Track* tracks_;
  std::size_t count_;
  Ticks at_, end_;
  StepParts out_;
  std::vector<std::size_t> passed_;  // spans of each track that ended before at_
};

}  // namespace

StepParts step_parts(const trace::Trace& trace, std::size_t first, Ticks begin, Ticks end) {
  return Cutter(trace, first, begin, end).run();
}

}  // namespace sim
