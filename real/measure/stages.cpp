// SPDX-License-Identifier: Apache-2.0
#include "real/measure/stages.h"

#include <algorithm>
#include <map>

namespace real {
namespace {

struct Edge {
  std::vector<trace::Span*> sends, receives;
};

/// A device's record says when a receive was there, not when something came.
void part_waiting(trace::Trace& trace) {
  std::map<int, Edge> edges;  // by channel
  for (trace::Track& track : trace.tracks) {
    const bool sends = track.stream.starts_with("send");
    if (!sends && !track.stream.starts_with("recv")) continue;
    for (trace::Span& span : track.spans) {
      if (span.channel >= 0) (sends ? edges[span.channel].sends : edges[span.channel].receives).push_back(&span);
    }
  }
  for (auto& [channel, edge] : edges) {
    if (edge.sends.size() != edge.receives.size()) continue;  // not both of its ends are here
    for (std::size_t n = 0; n < edge.sends.size(); ++n) {
      trace::Span& receive = *edge.receives[n];
      receive.start = std::clamp(edge.sends[n]->start, receive.start, receive.end);
    }
  }
}

}  // namespace

trace::Trace joined(std::vector<RankTrace> ranks) {
  constexpr trace::Ticks kTicksPerNanosecond = 1000;
  const std::uint64_t first = std::ranges::min_element(ranks, {}, &RankTrace::start_ns)->start_ns;
  trace::Trace out = ranks.front().trace;
  out.tracks.clear();
  for (RankTrace& rank : ranks) {
    const trace::Ticks later = static_cast<trace::Ticks>(rank.start_ns - first) * kTicksPerNanosecond;
    for (trace::Track& track : rank.trace.tracks) {
      for (trace::Span& span : track.spans) {
        span.ready += later;
        span.start += later;
        span.end += later;
      }
      out.tracks.push_back(std::move(track));
    }
    out.length = std::max(out.length, rank.trace.length + later);
  }
  part_waiting(out);
  return out;
}

}  // namespace real
