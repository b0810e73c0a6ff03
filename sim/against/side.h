// sim/against/side.h -- one of the two steps that are held against one another: a rank of it, and what its time is
// charged to. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "core/result/difference.h"
#include "core/trace/recorded.h"
#include "sim/against/alignment.h"
#include "sim/against/step_parts.h"

namespace sim {

struct Side {
  const trace::Recorded* recorded = nullptr;
  RankOf rank;
  trace::Ticks begin = 0, end = 0;  // of the step, all ranks
  StepParts parts;

  const trace::Trace& trace() const { return *rank.trace; }
  const trace::Track& track(std::size_t number) const { return trace().tracks[rank.first + number]; }
  result::OperatorTime time_of(SpanPlace place) const {
    const trace::Span& span = rank.at(place);
    const Charge& charge = parts.charges[place.track][place.index];
    return {1, span.end - span.ready, span.start - span.ready, charge.all(), charge.waiting};
  }
  trace::WorkKind kind_of(const trace::Span& span) const {
    return span.work < 0 ? trace::WorkKind{"other"} : recorded->kinds[static_cast<std::size_t>(span.work)];
  }
  /// Its family, and what it is for: communication of two axes has two.
  std::string family_with_axis(const trace::Span& span) const {
    return kind_of(span).family +
           (span.channel < 0 ? "" : ' ' + trace().channels[static_cast<std::size_t>(span.channel)]);
  }
};

/// The rank of this number, or else the one whose compute stream works longest. Throws base::InputError: there is none.
Side measured_side(const trace::Recorded&, std::optional<int> rank);
/// The rank that the track of `measured` is of, or else the first of its stage. What the host does between two steps
/// counts where the record reaches to the next step, too. Throws base::InputError: there is no such stage.
Side predicted_side(const trace::Recorded& predicted, const trace::Recorded& measured, const trace::Track& like);

/// Calls `tell(span, time)` for every operator.
template <class Tell>
void each_span(const Side& side, const Tell& tell) {
  for (std::size_t t = 0; t < side.parts.charges.size(); ++t) {
    for (std::size_t i = 0; i < side.parts.charges[t].size(); ++i) {
      tell(side.track(t).spans[i], side.time_of({t, i}));
    }
  }
}

/// Calls `tell(name, phase, time)` for every gap in which nothing was under way, by what ended it.
template <class Tell>
void each_gap(const Side& side, const Tell& tell) {
  const auto& spans = side.track(side.parts.main).spans;
  for (std::size_t i = 0; i < side.parts.idle.size(); ++i) {
    const trace::Ticks time = side.parts.idle[i];
    if (time == 0) continue;
    const result::OperatorTime gap{1, time, 0, time, 0};
    if (i == spans.size()) {
      tell("the end of the step", "", gap);
    } else {
      tell(side.trace().names[spans[i].name], side.trace().phases[spans[i].phase], gap);
    }
  }
}

}  // namespace sim
