// SPDX-License-Identifier: Apache-2.0
#include "sim/against/difference.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "core/base/fault.h"
#include "sim/against/alignment.h"
#include "sim/against/step_parts.h"

namespace sim {
namespace {

using result::AlignedOperator;
using result::DifferencePart;
using result::OperatorTime;
using result::StepDifference;
using trace::Recorded;
using trace::Span;
using trace::Ticks;
using Kind = DifferencePart::Kind;

[[noreturn]] void refuse(const std::string& field, const std::string& what, const std::string& mend) {
  throw base::InputError({{field, what, mend, {}}});
}

/// One side: a rank of a recorded step, cut.
struct Side {
  const Recorded* recorded = nullptr;
  RankOf rank;
  Ticks begin = 0, end = 0;
  StepParts parts;

  const trace::Trace& trace() const { return *rank.trace; }
  const trace::Track& track(std::size_t number) const { return trace().tracks[rank.first + number]; }
  OperatorTime time_of(SpanPlace place) const {
    const Span& span = rank.at(place);
    const Charge& charge = parts.charges[place.track][place.index];
    return {1, span.end - span.ready, span.start - span.ready, charge.all(), charge.waiting};
  }
  trace::WorkKind kind_of(const Span& span) const {
    return span.work < 0 ? trace::WorkKind{"other"} : recorded->kinds[static_cast<std::size_t>(span.work)];
  }
  /// Its family, and what it is for: communication of two axes has two.
  std::string family_with_axis(const Span& span) const {
    return kind_of(span).family + (span.channel < 0 ? "" : ' ' + trace().channels[static_cast<std::size_t>(span.channel)]);
  }
};

std::pair<Ticks, Ticks> extent(const Recorded& recorded) {
  Ticks begin = std::numeric_limits<Ticks>::max(), end = std::numeric_limits<Ticks>::min();
  for (const trace::Track& track : recorded.trace.tracks) {
    if (track.spans.empty()) continue;
    begin = std::min(begin, track.spans.front().start);
    end = std::max(end, track.spans.back().end);
  }
  if (begin > end) refuse("trace", "holds no operator", "record a step with forerun measure JOB --trace FILE");
  return {begin, std::max(end, begin + recorded.period)};
}

Side side_of(const Recorded& recorded, std::size_t first) {
  const auto [begin, end] = extent(recorded);
  return {&recorded, {&recorded.trace, first}, begin, end, step_parts(recorded.trace, first, begin, end)};
}

Ticks worked(const Side& side) {
  Ticks sum = 0;
  for (const Charge& charge : side.parts.charges[side.parts.main]) sum += charge.work;
  return sum;
}

Side measured_side(const Recorded& measured, std::optional<int> rank) {
  std::optional<Side> best;
  std::string ranks;
  for (std::size_t first = 0; first < measured.trace.tracks.size(); first += measured.trace.streams) {
    const int here = measured.trace.tracks[first].rank;
    ranks += (ranks.empty() ? "" : ", ") + std::to_string(here);
    if (rank && *rank != here) continue;
    Side side = side_of(measured, first);
    if (!best || worked(side) > worked(*best)) best = std::move(side);
  }
  if (best) return std::move(*best);
  if (ranks.empty()) refuse("trace", "holds no operator", "record a step with forerun measure JOB --trace FILE");
  refuse("--rank", "rank " + std::to_string(*rank) + " is not in the trace", "choose of " + ranks);
}

Side predicted_side(const Recorded& predicted, const trace::Track& like) {
  const auto& tracks = predicted.trace.tracks;
  std::optional<std::size_t> same_stage;
  for (std::size_t first = 0; first < tracks.size(); first += predicted.trace.streams) {
    if (tracks[first].rank == like.rank && tracks[first].stage == like.stage) return side_of(predicted, first);
    if (tracks[first].stage == like.stage && !same_stage) same_stage = first;
  }
  if (same_stage) return side_of(predicted, *same_stage);
  refuse("trace", "is of pipeline stage " + std::to_string(like.stage) + ", which the job does not have",
         "name the job that was measured");
}

void add(OperatorTime& to, const OperatorTime& what) {
  to.count += what.count;
  to.busy_ps += what.busy_ps;
  to.waiting_ps += what.waiting_ps;
  to.in_step_ps += what.in_step_ps;
  to.waiting_in_step_ps += what.waiting_in_step_ps;
}

/// Takes what waits out of it.
OperatorTime take_waiting(OperatorTime& from) {
  const OperatorTime waiting{from.count, from.waiting_ps, from.waiting_ps, from.waiting_in_step_ps,
                             from.waiting_in_step_ps};
  from.busy_ps -= from.waiting_ps;
  from.in_step_ps -= from.waiting_in_step_ps;
  from.waiting_ps = from.waiting_in_step_ps = 0;
  return waiting;
}

/// Parts with the same kind and names are one.
class Parts {
 public:
  DifferencePart& at(Kind kind, const std::string& family, const std::string& name = "", const std::string& phase = "") {
    DifferencePart& part = parts_[{kind, family, name, phase}];
    std::tie(part.kind, part.family, part.name, part.phase) = std::tie(kind, family, name, phase);
    return part;
  }
  /// Only what operators with counterparts waited; the record tells it by telling any of it.
  void split_waiting() {
    std::vector<DifferencePart> waiting;
    for (auto& [key, part] : parts_) {
      if (part.kind != Kind::operators || part.measured.waiting_ps == 0) continue;
      waiting.push_back({Kind::waiting, part.family, part.name, part.phase, take_waiting(part.predicted),
                         take_waiting(part.measured)});
    }
    for (const DifferencePart& part : waiting) at(part.kind, part.family, part.name, part.phase) = part;
  }
  std::vector<DifferencePart> largest_first() const {
    std::vector<DifferencePart> out;
    for (const auto& [key, part] : parts_) out.push_back(part);
    std::stable_sort(out.begin(), out.end(), [](const DifferencePart& a, const DifferencePart& b) {
      return std::abs(a.difference_ps()) > std::abs(b.difference_ps());
    });
    return out;
  }

 private:
  std::map<std::tuple<Kind, std::string, std::string, std::string>, DifferencePart> parts_;
};

std::vector<DifferencePart> by_family(const std::vector<DifferencePart>& parts) {
  Parts sums;
  for (const DifferencePart& part : parts) {
    DifferencePart& sum = sums.at(part.kind, part.family);
    add(sum.predicted, part.predicted);
    add(sum.measured, part.measured);
  }
  return sums.largest_first();
}

/// Calls `tell(name, phase, time)` for every gap.
template <class Tell>
void idle_of(const Side& side, const Tell& tell) {
  const std::vector<Span>& spans = side.track(side.parts.main).spans;
  for (std::size_t i = 0; i < side.parts.idle.size(); ++i) {
    const Ticks time = side.parts.idle[i];
    if (time == 0) continue;
    const OperatorTime gap{1, time, 0, time, 0};
    if (i == spans.size()) {
      tell("the end of the step", "", gap);
    } else {
      tell(side.trace().names[spans[i].name], side.trace().phases[spans[i].phase], gap);
    }
  }
}

Kind kind_of(bool predicted, bool measured) {
  if (!measured) return Kind::only_predicted;
  return predicted ? Kind::operators : Kind::only_measured;
}

AlignedOperator told(const SpanPair& pair, const Side& predicted, const Side& measured) {
  const Side& side = pair.one ? predicted : measured;
  const SpanPlace place = pair.one ? *pair.one : *pair.other;
  const Span& span = side.rank.at(place);
  AlignedOperator out;
  out.stream = side.track(place.track).stream;
  out.family = side.family_with_axis(span);
  out.name = side.trace().names[span.name];
  out.phase = side.trace().phases[span.phase];
  std::tie(out.microbatch, out.chunk, out.layer) = std::tuple<int, int, int>(span.microbatch, span.chunk, span.layer);
  if ((out.has_predicted = pair.one.has_value())) {
    out.predicted = predicted.time_of(*pair.one);
    out.predicted_start_ps = predicted.rank.at(*pair.one).start - predicted.begin;
  }
  if ((out.has_measured = pair.other.has_value())) {
    out.measured = measured.time_of(*pair.other);
    out.measured_start_ps = measured.rank.at(*pair.other).start - measured.begin;
  }
  return out;
}

void tell_operators(const Side& predicted, const Side& measured, StepDifference& out) {
  Parts parts;
  bool any = false;
  for (const SpanPair& pair : align(predicted.rank, measured.rank)) {
    const AlignedOperator& op = out.operators.emplace_back(told(pair, predicted, measured));
    any = any || (op.has_predicted && op.has_measured);
    DifferencePart& part = parts.at(kind_of(op.has_predicted, op.has_measured), op.family, op.name, op.phase);
    add(part.predicted, op.predicted);
    add(part.measured, op.measured);
  }
  if (!any) {
    refuse("trace", "has no operator in common with the prediction, such as '" + out.operators.front().name + "'",
           "name the job that was measured");
  }
  parts.split_waiting();
  idle_of(predicted, [&](const std::string& name, const std::string& phase, const OperatorTime& time) {
    add(parts.at(Kind::idle, "idle", name, phase).predicted, time);
  });
  idle_of(measured, [&](const std::string& name, const std::string& phase, const OperatorTime& time) {
    add(parts.at(Kind::idle, "idle", name, phase).measured, time);
  });
  out.parts = parts.largest_first();
  out.families = by_family(out.parts);
}

template <class Tell>
void each_span(const Side& side, const Tell& tell) {
  for (std::size_t t = 0; t < side.parts.charges.size(); ++t) {
    for (std::size_t i = 0; i < side.parts.charges[t].size(); ++i) {
      tell(side.track(t).spans[i], side.time_of({t, i}));
    }
  }
}

/// "all_gather of 8" where the record tells of every collective how many took part; "all_gather" otherwise.
class KernelFamily {
 public:
  explicit KernelFamily(const Side& predicted, const Side& measured) {
    std::set<std::string> collectives;
    for (const trace::WorkKind& kind : predicted.recorded->kinds) {
      if (kind.ranks > 0) collectives.insert(kind.family);
    }
    each_span(measured, [&](const Span& span, const OperatorTime&) {
      const trace::WorkKind kind = measured.kind_of(span);
      sized_ = sized_ && (kind.ranks > 0 || !collectives.contains(kind.family));
    });
  }
  std::string operator()(const trace::WorkKind& kind) const {
    return kind.family + (sized_ && kind.ranks > 0 ? " of " + std::to_string(kind.ranks) : "");
  }

 private:
  bool sized_ = true;
};

void tell_kernels(const Side& predicted, const Side& measured, StepDifference& out) {
  const KernelFamily family_of(predicted, measured);
  std::map<std::string, std::pair<OperatorTime, OperatorTime>> families;
  Parts kernels;
  each_span(predicted, [&](const Span& span, const OperatorTime& time) {
    if (time.busy_ps > 0) add(families[family_of(predicted.kind_of(span))].first, time);
  });
  each_span(measured, [&](const Span& span, const OperatorTime& time) {
    const std::string family = family_of(measured.kind_of(span));
    add(families[family].second, time);
    add(kernels.at(Kind::only_measured, family, measured.trace().names[span.name]).measured, time);
  });
  Parts parts;
  for (const auto& [family, times] : families) {
    DifferencePart& part = parts.at(kind_of(times.first.count > 0, times.second.count > 0), family);
    std::tie(part.predicted, part.measured) = times;
  }
  DifferencePart& idle = parts.at(Kind::idle, "idle");
  idle_of(predicted, [&](const auto&, const auto&, const OperatorTime& time) { add(idle.predicted, time); });
  idle_of(measured, [&](const auto&, const auto&, const OperatorTime& time) { add(idle.measured, time); });
  out.families = parts.largest_first();
  out.kernels = kernels.largest_first();
  std::stable_sort(out.kernels.begin(), out.kernels.end(),
                   [](const auto& a, const auto& b) { return a.measured.busy_ps > b.measured.busy_ps; });
}

}  // namespace

StepDifference difference(const Recorded& predicted, const Recorded& measured, std::optional<int> rank) {
  const Side there = measured_side(measured, rank);
  const Side here = predicted_side(predicted, there.track(0));
  StepDifference out;
  out.source = measured.source;
  out.notes = measured.notes;
  out.rank = there.track(0).rank;
  out.stage = there.track(0).stage;
  out.predicted_ps = here.end - here.begin;
  out.measured_ps = there.end - there.begin;
  out.by_operator = trace::tells_operators(measured);
  if (out.by_operator) {
    tell_operators(here, there, out);
  } else {
    tell_kernels(here, there, out);
  }
  return out;
}

}  // namespace sim
