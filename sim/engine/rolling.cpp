// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/rolling.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

namespace sim {

void roll(trace::Trace& trace) {
  const auto begin_of = [&](std::size_t first) {  // the compute stream's track comes first
    const std::vector<trace::Span>& kernels = trace.tracks[first].spans;
    return kernels.empty() ? trace::Ticks{0} : kernels.front().start;
  };
  const auto step = static_cast<std::size_t>(trace.streams);
  trace::Ticks earliest = std::numeric_limits<trace::Ticks>::max();
  for (std::size_t first = 0; first < trace.tracks.size(); first += step) {
    earliest = std::min(earliest, begin_of(first));
  }
  trace.length = 0;
  for (std::size_t first = 0; first < trace.tracks.size(); first += step) {
    const trace::Ticks later = begin_of(first) - earliest;
    for (std::size_t t = first; t < first + step; ++t) {
      trace.tracks[t].later = later;
      for (trace::Span& span : trace.tracks[t].spans) {
        for (trace::Ticks* instant : {&span.ready, &span.start, &span.end}) {
          *instant = std::max(trace::Ticks{0}, *instant - later);
        }
        trace.length = std::max(trace.length, span.end);
      }
    }
  }
}

Ticks rolling_length(const std::vector<Reach>& instances) {
  Ticks earliest = std::numeric_limits<Ticks>::max(), longest = 0;
  for (const Reach& one : instances) earliest = std::min(earliest, one.begin);
  for (const Reach& one : instances) longest = std::max(longest, one.end - (one.begin - earliest));
  return longest;
}

}  // namespace sim
