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

}  // namespace

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

}  // namespace sim
