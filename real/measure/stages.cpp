// SPDX-License-Identifier: Apache-2.0
#include "real/measure/stages.h"

#include <algorithm>

namespace real {

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
  return out;
}

}  // namespace real
