// sim/against/step_parts.h -- to what a rank's step is charged, read off its spans alone, so that a predicted and a
// recorded step are cut by one rule. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "core/trace/trace.h"

namespace sim {

struct Charge {
  trace::Ticks work = 0;     // between its start and its end
  trace::Ticks waiting = 0;  // between ready and start
  trace::Ticks all() const { return work + waiting; }
};

struct StepParts {
  std::size_t main = 0;                      // the compute stream, as a number among the rank's tracks
  std::vector<std::vector<Charge>> charges;  // by track of the rank, by span
  std::vector<trace::Ticks> idle;            // before each span of the main track, and behind the last
};

/// Tracks [first, first + trace.streams) are the rank's; the step lasts from `begin` to `end`. Each instant is charged
/// once, and everything adds up to end - begin:
///   1. to the operator that runs (or waits for its others) on the compute stream;
///   2. in a gap of that stream, to an operator of another stream that is ready or runs then and has ended when the
///      gap ends: it may be what was waited for. Of several, to the one that ends last;
///   3. otherwise the instant is idle, and told by the operator that ends the gap.
/// The compute stream is the track of that name; without one, the track that is busy longest.
/// REQUIRES: spans of a track do not overlap.
StepParts step_parts(const trace::Trace&, std::size_t first, trace::Ticks begin, trace::Ticks end);

}  // namespace sim
