// core/trace/trace.h -- what happened, or is predicted to happen, in one step: spans on streams and memory over time.
// The simulator and the GPUs tell the same Trace: timelines are drawn of it, analyses read it beside the engine's
// input. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace trace {

/// Picoseconds since the start of the step; int64 lasts 106 days.
using Ticks = std::int64_t;
inline constexpr double kTicksPerSecond = 1e12;
inline double seconds(Ticks ticks) { return static_cast<double>(ticks) / kTicksPerSecond; }

/// One operator on one stream.
struct Span {
  Ticks ready = 0;  // reached the head of its stream with all it waits for
  Ticks start = 0;  // began: later than `ready` when others had to arrive first
  Ticks end = 0;
  std::int32_t name = 0;  // index into Trace::names
  std::int32_t microbatch = -1;
  std::int32_t work = -1;  // index into the Plan's works; -1: not known
  std::int16_t layer = -1, chunk = -1;
  std::uint8_t phase = 0;       // index into Trace::phases
  std::int8_t waited_for = -1;  // stream whose operator let it start last; -2: the host; -1: nothing
  std::int16_t channel = -1;    // communication: who meets; -1: none
};

struct Track {
  int rank = 0, stage = 0;
  std::string stream;
  std::vector<Span> spans;  // in time order, none overlapping
  Ticks later = 0;          // than others this rank's clock starts: where steps follow one another without a barrier
};

struct MemoryPoint {
  Ticks at = 0;
  std::int64_t bytes = 0;
};
struct MemoryTrack {
  int rank = 0, stage = 0;
  std::vector<MemoryPoint> points;
};

struct Trace {
  std::vector<std::string> names, phases;
  std::vector<std::string>
      channels;               // by Span::channel: "tp" "dp" "pp" "embedding" "model": what a communication is for
  std::vector<Track> tracks;  // by role (or rank), then stream; streams without spans are kept, so that
                              // tracks[role * streams + stream] holds
  int streams = 0;
  std::vector<MemoryTrack> memory;  // by role
  Ticks length = 0;                 // of the step
};

}  // namespace trace
