// SPDX-License-Identifier: Apache-2.0
#include "sim/against/side.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/base/fault.h"

namespace sim {
namespace {

using trace::Recorded;
using trace::Ticks;

[[noreturn]] void refuse(const std::string& field, const std::string& what, const std::string& mend) {
  throw base::InputError({{field, what, mend, {}}});
}

/// At least `period` long.
std::pair<Ticks, Ticks> extent(const Recorded& recorded, Ticks period) {
  Ticks begin = std::numeric_limits<Ticks>::max(), end = std::numeric_limits<Ticks>::min();
  for (const trace::Track& track : recorded.trace.tracks) {
    if (track.spans.empty()) continue;
    begin = std::min(begin, track.spans.front().start);
    end = std::max(end, track.spans.back().end);
  }
  if (begin > end) refuse("trace", "holds no operator", "record a step with forerun measure JOB --trace FILE");
  return {begin, std::max(end, begin + period)};
}

Side side_of(const Recorded& recorded, std::size_t first, Ticks period) {
  const auto [begin, end] = extent(recorded, period);
  return {&recorded, {&recorded.trace, first}, begin, end, step_parts(recorded.trace, first, begin, end)};
}

Ticks worked(const Side& side) {
  Ticks sum = 0;
  for (const Charge& charge : side.parts.charges[side.parts.main]) sum += charge.work;
  return sum;
}

}  // namespace

Side measured_side(const Recorded& measured, std::optional<int> rank) {
  std::optional<Side> best;
  std::string ranks;
  for (std::size_t first = 0; first < measured.trace.tracks.size(); first += measured.trace.streams) {
    const int here = measured.trace.tracks[first].rank;
    ranks += (ranks.empty() ? "" : ", ") + std::to_string(here);
    if (rank && *rank != here) continue;
    Side side = side_of(measured, first, measured.period);
    if (!best || worked(side) > worked(*best)) best = std::move(side);
  }
  if (best) return std::move(*best);
  if (ranks.empty()) refuse("trace", "holds no operator", "record a step with forerun measure JOB --trace FILE");
  refuse("--rank", "rank " + std::to_string(*rank) + " is not in the trace", "choose of " + ranks);
}

Side predicted_side(const Recorded& predicted, const Recorded& measured, const trace::Track& like) {
  const Ticks period = measured.period > 0 ? predicted.trace.length : 0;
  const auto& tracks = predicted.trace.tracks;
  std::optional<std::size_t> same_stage;
  for (std::size_t first = 0; first < tracks.size(); first += predicted.trace.streams) {
    if (tracks[first].rank == like.rank && tracks[first].stage == like.stage) return side_of(predicted, first, period);
    if (tracks[first].stage == like.stage && !same_stage) same_stage = first;
  }
  if (same_stage) return side_of(predicted, *same_stage, period);
  refuse("trace", "is of pipeline stage " + std::to_string(like.stage) + ", which the job does not have",
         "name the job that was measured");
}

}  // namespace sim
