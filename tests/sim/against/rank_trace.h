// tests/sim/against/rank_trace.h -- small traces of one rank, written as lines of operators.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "core/trace/recorded.h"

namespace testing_support {

/// A recorded step of one rank with the streams "compute", "dp" and "recv prev".
class RankTrace {
 public:
  RankTrace() {
    recorded_.source = "gpu";
    recorded_.trace.streams = 3;
    recorded_.trace.phases = {"forward", "backward"};
    recorded_.trace.channels = {"dp", "pp"};
    for (const char* stream : {"compute", "dp", "recv prev"}) recorded_.trace.tracks.push_back({0, 0, stream, {}});
  }

  /// On the compute stream.
  RankTrace& compute(const std::string& name, trace::Ticks start, trace::Ticks end, int layer = 0) {
    return add(0, name, start, start, end, layer, "matmul", 0, -1);
  }
  RankTrace& gather(const std::string& name, trace::Ticks ready, trace::Ticks start, trace::Ticks end, int layer = 0) {
    return add(1, name, ready, start, end, layer, "all_gather", 8, 0);
  }
  RankTrace& receive(const std::string& name, trace::Ticks ready, trace::Ticks start, trace::Ticks end, int layer = 0) {
    return add(2, name, ready, start, end, layer, "send_recv", 0, 1);
  }

  RankTrace& at_rank(int rank, int stage) {
    for (trace::Track& track : recorded_.trace.tracks) track.rank = rank, track.stage = stage;
    return *this;
  }
  /// The other's tracks behind these. REQUIRES: the other was made of the same operators in the same order.
  RankTrace& beside(const RankTrace& other) {
    const auto& tracks = other.recorded_.trace.tracks;
    recorded_.trace.tracks.insert(recorded_.trace.tracks.end(), tracks.begin(), tracks.end());
    return *this;
  }
  const trace::Recorded& recorded() const { return recorded_; }
  trace::Recorded& recorded() { return recorded_; }

 private:
  RankTrace& add(std::size_t track, const std::string& name, trace::Ticks ready, trace::Ticks start, trace::Ticks end,
                 int layer, const std::string& family, int ranks, int channel) {
    trace::Span span;
    span.ready = ready;
    span.start = start;
    span.end = end;
    span.layer = static_cast<std::int16_t>(layer);
    span.channel = static_cast<std::int16_t>(channel);
    span.name = static_cast<std::int32_t>(place(recorded_.trace.names, name));
    span.work = static_cast<std::int32_t>(place(recorded_.kinds, trace::WorkKind{family, ranks}));
    recorded_.trace.tracks[track].spans.push_back(span);
    recorded_.trace.length = std::max(recorded_.trace.length, end);
    return *this;
  }
  template <class T>
  static std::size_t place(std::vector<T>& list, const T& what) {
    const auto at = static_cast<std::size_t>(std::find(list.begin(), list.end(), what) - list.begin());
    if (at == list.size()) list.push_back(what);
    return at;
  }

  trace::Recorded recorded_;
};

}  // namespace testing_support
