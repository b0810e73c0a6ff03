// sim/against/alignment.h -- which operator of one rank's step is which of another's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/trace/trace.h"

namespace sim {

/// A span of a rank: its track among the rank's, its number on it.
struct SpanPlace {
  std::size_t track = 0, index = 0;
};

struct SpanPair {
  std::optional<SpanPlace> one, other;  // one of them at least
};

/// A rank's tracks in a trace.
struct RankOf {
  const trace::Trace* trace = nullptr;
  std::size_t first = 0;  // of trace->streams tracks
  const trace::Span& at(SpanPlace place) const { return trace->tracks[first + place.track].spans[place.index]; }
};

/// Operators are the same when microbatch, chunk, layer, phase and name are; where several are, the n-th to start on
/// one side is the n-th on the other. The streams may differ, and so may the order. By the start in `one`; what only
/// `other` has comes behind, by its start.
std::vector<SpanPair> align(const RankOf& one, const RankOf& other);

}  // namespace sim
