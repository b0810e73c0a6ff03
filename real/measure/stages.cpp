// SPDX-License-Identifier: Apache-2.0
#include "real/measure/stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/base/text.h"

namespace real {
namespace {

constexpr trace::Ticks kTicksPerNanosecond = 1000;

struct End {
  trace::Span* span;
  trace::Ticks uncertainty;  // of its rank's clock
};
struct Edge {
  std::vector<End> sends, receives;
};

/// By how much a receive ended before its send began, beyond what the clocks explain: 0, or the clocks are wrong.
trace::Ticks too_early(const End& send, const End& receive) {
  return std::max<trace::Ticks>(0, send.span->start - receive.span->end - send.uncertainty - receive.uncertainty);
}

struct Early {
  int receives = 0;
  trace::Ticks most = 0;
};

/// A device's record says when a receive was there, not when something came.
Early part_waiting(trace::Trace& trace, const std::vector<trace::Ticks>& uncertainty_of_track) {
  std::map<int, Edge> edges;  // by channel
  for (std::size_t i = 0; i < trace.tracks.size(); ++i) {
    trace::Track& track = trace.tracks[i];
    const bool sends = track.stream.starts_with("send");
    if (!sends && !track.stream.starts_with("recv")) continue;
    for (trace::Span& span : track.spans) {
      if (span.channel < 0) continue;
      (sends ? edges[span.channel].sends : edges[span.channel].receives).push_back({&span, uncertainty_of_track[i]});
    }
  }
  Early early;
  for (auto& [channel, edge] : edges) {
    if (edge.sends.size() != edge.receives.size()) continue;  // not both of its ends are here
    for (std::size_t n = 0; n < edge.sends.size(); ++n) {
      const trace::Ticks by = too_early(edge.sends[n], edge.receives[n]);
      early.receives += by > 0 ? 1 : 0;
      early.most = std::max(early.most, by);
      trace::Span& receive = *edge.receives[n].span;
      receive.start = std::clamp(edge.sends[n].span->start, receive.start, receive.end);
    }
  }
  return early;
}

std::string time_text(trace::Ticks ticks) { return base::human(base::Seconds(trace::seconds(ticks))); }

std::vector<std::string> notes_of(const Early& early, trace::Ticks uncertainty) {
  std::vector<std::string> out;
  if (uncertainty > 0)
    out.push_back(fmt::format("clocks of machines are known to {} of rank 0's", time_text(uncertainty)));
  if (early.receives > 0) {
    out.push_back(fmt::format(
        "{} receive{} ended before {} send began, by up to {} more than the clocks' uncertainty: "
        "when ranks of different machines waited for one another is not known",
        early.receives, early.receives == 1 ? "" : "s", early.receives == 1 ? "its" : "their", time_text(early.most)));
  }
  return out;
}

}  // namespace

JoinedTrace joined(std::vector<RankTrace> ranks) {
  const auto start_of = [](const RankTrace& rank) { return static_cast<std::int64_t>(rank.start_ns) + rank.offset_ns; };
  const std::int64_t first = start_of(*std::ranges::min_element(ranks, {}, start_of));
  JoinedTrace out;
  trace::Trace& trace = out.trace;
  trace = ranks.front().trace;
  trace.tracks.clear();
  std::vector<trace::Ticks> uncertainties;  // by track
  for (RankTrace& rank : ranks) {
    const trace::Ticks later = (start_of(rank) - first) * kTicksPerNanosecond;
    for (trace::Track& track : rank.trace.tracks) {
      for (trace::Span& span : track.spans) {
        span.ready += later;
        span.start += later;
        span.end += later;
      }
      trace.tracks.push_back(std::move(track));
      uncertainties.push_back(rank.uncertainty_ns * kTicksPerNanosecond);
    }
    trace.length = std::max(trace.length, rank.trace.length + later);
  }
  const Early early = part_waiting(trace, uncertainties);
  const trace::Ticks most = uncertainties.empty() ? 0 : *std::ranges::max_element(uncertainties);
  out.notes = notes_of(early, most);
  return out;
}

}  // namespace real
