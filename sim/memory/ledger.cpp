// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/ledger.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <map>
#include <numeric>
#include <optional>
#include <vector>

namespace sim {
namespace {

using ByCategory = std::array<std::int64_t, plan::kCategories>;

std::int64_t sum(const ByCategory& levels) { return std::accumulate(levels.begin(), levels.end(), std::int64_t{0}); }

/// What a segment does to the level: its highest point above the start, and what it leaves.
struct Profile {
  double highest = 0;
  std::size_t changes = 0;  // up to that point
  ByCategory net{};
};

/// Changes that count for a level: `resident_apart` leaves out what is there all the time.
class Levels {
 public:
  Levels(const ByteWeights& weights, bool resident_apart) : weights_(weights), resident_apart_(resident_apart) {}

  bool counts(const plan::MemoryChange& change) const { return !(change.apart && resident_apart_); }
  double of(const ByCategory& bytes) const {
    double out = 0;
    for (std::size_t k = 0; k < bytes.size(); ++k) out += weights_[k] * static_cast<double>(bytes[k]);
    return out;
  }
  Profile profile_of(const plan::Segment& segment) const {
    Profile out;
    double level = 0;
    for (std::size_t i = 0; i < segment.memory.size(); ++i) {
      const plan::MemoryChange& change = segment.memory[i];
      if (!counts(change)) continue;
      const auto category = static_cast<std::size_t>(change.category);
      out.net[category] += change.bytes;
      level += weights_[category] * static_cast<double>(change.bytes);
      if (level > out.highest) {
        out.highest = level;
        out.changes = i + 1;
      }
    }
    return out;
  }

 private:
  const ByteWeights& weights_;
  const bool resident_apart_;
};

/// Where a segment's operators stand on their streams, counted from its start.
struct Places {
  std::vector<std::int32_t> place;  // of each operator
  std::array<std::size_t, plan::kStreams> operators{};
};

Places places_of(const plan::Segment& segment) {
  Places out;
  out.place.reserve(segment.operators.size());
  for (const plan::Operator& op : segment.operators) {
    out.place.push_back(static_cast<std::int32_t>(out.operators[static_cast<int>(op.stream)]++));
  }
  return out;
}

/// Writes what is allocated over time. Changes of one instant are two points at most, the highest level and the last:
/// what is given back as soon as it was taken was there all the same.
class LevelPoints {
 public:
  LevelPoints(std::vector<trace::MemoryPoint>& points, std::int64_t level)
      : points_(points), level_(level), highest_(level) {
    points_.push_back({0, level});
  }

  void note(trace::Ticks at, std::int64_t bytes) {
    level_ += bytes;
    if (at > latest_) {
      latest_ = at;
      first_ = points_.size();
      highest_ = level_;
    }
    highest_ = std::max(highest_, level_);
    points_.resize(first_);
    points_.push_back({latest_, highest_});
    if (level_ < highest_) points_.push_back({latest_, level_});
  }

 private:
  std::vector<trace::MemoryPoint>& points_;
  std::int64_t level_, highest_;
  trace::Ticks latest_ = 0;
  std::size_t first_ = 0;  // point of the latest instant
};

}  // namespace

std::int64_t MemoryPeak::total() const { return sum(bytes); }

MemoryPeak peak_of(const plan::Plan& plan, const plan::Role& role, bool resident_apart) {
  ByteWeights alike;
  alike.fill(1);
  return heaviest(plan, role, alike, resident_apart);
}

MemoryPeak heaviest(const plan::Plan& plan, const plan::Role& role, const ByteWeights& weights, bool resident_apart) {
  const Levels levels(weights, resident_apart);
  std::vector<std::optional<Profile>> profiles(plan.segments.size());
  ByCategory now = role.resident;
  double most = levels.of(now);
  MemoryPeak out;
  out.bytes = now;
  for (std::size_t c = 0; c < role.calls.size(); ++c) {
    std::optional<Profile>& profile = profiles[role.calls[c].segment];
    if (!profile) profile = levels.profile_of(plan.segments[role.calls[c].segment]);
    if (const double highest = levels.of(now) + profile->highest; highest > most) {
      most = highest;
      out.call = static_cast<std::int32_t>(c);
      out.bytes = now;
    }
    for (int k = 0; k < plan::kCategories; ++k) now[k] += profile->net[k];
  }
  if (out.call < 0) return out;
  const std::int32_t segment = role.calls[out.call].segment;
  const std::vector<plan::MemoryChange>& changes = plan.segments[segment].memory;
  for (std::size_t i = 0; i < profiles[segment]->changes; ++i) {
    if (levels.counts(changes[i])) out.bytes[static_cast<std::size_t>(changes[i].category)] += changes[i].bytes;
  }
  out.op = changes[profiles[segment]->changes - 1].at;
  return out;
}

std::size_t tracks_of(const trace::Trace& trace, const plan::Role& role) {
  for (std::size_t first = 0; first < trace.tracks.size(); first += trace.streams) {
    if (trace.tracks[first].rank == role.first_rank) return first;
  }
  return 0;
}

trace::MemoryTrack timeline(const plan::Plan& plan, const plan::Role& role, const trace::Trace& trace,
                            std::size_t first) {
  trace::MemoryTrack out;
  out.rank = role.first_rank;
  out.stage = role.stage;
  LevelPoints level(out.points, sum(role.resident));
  std::vector<Places> places(plan.segments.size());
  std::array<std::size_t, plan::kStreams> begun{};  // operators of the calls before, on each stream
  for (const plan::Call& call : role.calls) {
    const plan::Segment& segment = plan.segments[call.segment];
    Places& known = places[call.segment];
    if (known.place.empty()) known = places_of(segment);
    for (const plan::MemoryChange& change : segment.memory) {
      assert(change.at >= 0 && change.at < static_cast<std::int32_t>(segment.operators.size()));
      const auto stream = static_cast<std::size_t>(segment.operators[change.at].stream);
      const trace::Span& span = trace.tracks[first + stream].spans[begun[stream] + known.place[change.at]];
      level.note(change.after ? span.end : span.start, change.bytes);
    }
    for (std::size_t stream = 0; stream < begun.size(); ++stream) begun[stream] += known.operators[stream];
  }
  return out;
}

trace::Ticks instant_of(const EngineInput& in, const plan::Role& role, const trace::Trace& trace, std::size_t first,
                        std::int32_t call, std::int32_t op) {
  const std::int32_t* begin = in.segments_of(in.instance_of(role.first_rank).variant);
  const std::int32_t segment = role.calls[call].segment;
  std::ptrdiff_t step = begin[segment] + op;
  trace::Ticks lead = 0;
  if (!in.lead.empty()) {
    // Operators of other streams may stand between those of a chain, so the step is sought on the operator's own.
    std::ptrdiff_t at = in.first_operator[begin[segment]] + op;
    const auto stream = static_cast<std::uint8_t>(in.plan->segments[segment].operators[op].stream);
    step = begin[segment + 1] - 1;
    while (in.steps[step].stream != stream || in.first_operator[step] > at) --step;
    lead = in.lead[at];
  }
  const Step& wanted = in.steps[step];
  std::map<std::int32_t, std::ptrdiff_t> known;  // steps of each segment on that stream
  const auto on_stream = [&](std::ptrdiff_t from, std::ptrdiff_t to) {
    return std::count_if(in.steps.begin() + from, in.steps.begin() + to,
                         [&](const Step& s) { return s.stream == wanted.stream; });
  };
  std::ptrdiff_t before = on_stream(begin[segment], step);
  for (std::int32_t c = 0; c < call; ++c) {
    const std::int32_t s = role.calls[c].segment;
    const auto [it, fresh] = known.try_emplace(s);
    if (fresh) it->second = on_stream(begin[s], begin[s + 1]);
    before += it->second;
  }
  const trace::Span& span = trace.tracks[first + wanted.stream].spans[before];
  if (lead == 0) return span.start;
  const double share = static_cast<double>(lead) / static_cast<double>(wanted.duration);
  return span.start + static_cast<trace::Ticks>(share * static_cast<double>(span.end - span.start));
}

}  // namespace sim
