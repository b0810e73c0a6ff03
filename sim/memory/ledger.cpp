// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/ledger.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <map>
#include <numeric>
#include <vector>

namespace sim {
namespace {

using ByCategory = std::array<std::int64_t, plan::kCategories>;

std::int64_t sum(const ByCategory& levels) { return std::accumulate(levels.begin(), levels.end(), std::int64_t{0}); }

/// What a segment does to the level: its highest point above the start, and what it leaves.
struct Profile {
  std::int64_t highest = 0;
  ByCategory net{};
};

Profile profile_of(const plan::Segment& segment) {
  Profile out;
  std::int64_t level = 0;
  for (const plan::MemoryChange& change : segment.memory) {
    level += change.bytes;
    out.highest = std::max(out.highest, level);
    out.net[static_cast<int>(change.category)] += change.bytes;
  }
  return out;
}

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

MemoryPeak peak_of(const plan::Plan& plan, const plan::Role& role) {
  std::vector<Profile> profiles(plan.segments.size());
  std::vector<bool> known(plan.segments.size());
  ByCategory levels = role.resident, at_call = levels;
  std::int64_t level = sum(levels), peak = level;
  MemoryPeak out;
  out.bytes = levels;
  for (std::size_t c = 0; c < role.calls.size(); ++c) {
    const std::int32_t segment = role.calls[c].segment;
    if (!known[segment]) {
      profiles[segment] = profile_of(plan.segments[segment]);
      known[segment] = true;
    }
    const Profile& profile = profiles[segment];
    if (level + profile.highest > peak) {
      peak = level + profile.highest;
      out.call = static_cast<std::int32_t>(c);
      at_call = levels;
    }
    for (int k = 0; k < plan::kCategories; ++k) levels[k] += profile.net[k];
    level += sum(profile.net);
  }
  if (out.call < 0) return out;
  levels = at_call;
  for (const plan::MemoryChange& change : plan.segments[role.calls[out.call].segment].memory) {
    levels[static_cast<int>(change.category)] += change.bytes;
    if (sum(levels) != peak) continue;
    out.bytes = levels;
    out.op = change.at;
    break;
  }
  return out;
}

std::int64_t peak_with_pools(const plan::Plan& plan, const plan::Role& role) {
  std::int64_t level = sum(role.resident), peak = level;  // what is apart is resident between steps
  for (const plan::Call& call : role.calls) {
    for (const plan::MemoryChange& change : plan.segments[call.segment].memory) {
      if (change.apart) continue;
      level += change.bytes;
      peak = std::max(peak, level);
    }
  }
  return peak;
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
