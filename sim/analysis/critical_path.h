// sim/analysis/critical_path.h -- the chain of causes that made the step as long as it is, walked backwards from its
// end: an operator, then what it waited for: its predecessor, another stream, the last rank to arrive, or the host.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "core/trace/trace.h"
#include "sim/engine/engine.h"

namespace sim {

/// What equal pieces of the path have in common.
struct PathPiece {
  enum class Cause : std::uint8_t { work, host, waiting };  // waiting: for a rank whose spans were not kept
  Cause cause = Cause::work;
  int stage = 0;
  std::int32_t name = 0;      // index into Trace::names; of a piece of the host or of waiting: of what it held up
  std::int32_t work = -1;     // index into the Plan's works
  std::int16_t channel = -1;  // index into Trace::channels; -1: no communication
  std::uint8_t phase = 0;     // index into Trace::phases
  auto operator<=>(const PathPiece&) const = default;
};

struct PathPart {
  PathPiece piece;
  trace::Ticks time = 0;
  std::int64_t count = 0;
  double whole = 0;  // sum of the share of each that is on the path: below 1 where the step's beginning cuts it
};

/// Ordered by piece; the times add up to trace.length exactly. A step that waits for a pipeline bubble waits for the
/// work of another stage, and that work is what the path shows. REQUIRES: the trace is to_trace() of that input.
std::vector<PathPart> critical_path(const trace::Trace&, const EngineInput&);

/// Before the run: the path may lead to any rank, so all spans are kept unless they are too many for a machine of
/// ordinary size.
void keep_spans(EngineInput&);

}  // namespace sim
