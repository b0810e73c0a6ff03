// sim/search/exchange_waits.h -- what a search's upper level adds for ranks that are late (sim/engine/lateness.h): its
// passes were rehearsed a few at a time, but what a data-parallel collective waits for grows with all the kernels since
// the one before, microbatch after microbatch. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <vector>

#include "sim/search/pipeline_walk.h"
#include "sim/search/step_end.h"

namespace sim {

/// By stream: of the kernels since its latest exchange, the sum of the squares of their times, in seconds^2.
using Squares = std::array<double, plan::kStreams>;

/// Adds what they wait for the latest of their ranks to the exchanges of one stage's chunks, in the order of its
/// passes. Returns what is left behind the last.
/// Leaves out: exchanges of a stage alone that are rehearsed with its passes, which wait as behind one microbatch.
Squares wait_for_the_latest(const PipelineShape&, int stage, std::vector<ChunkTimes>& chunks, double jitter);

/// Sets what the first exchanges of the step's end wait, behind passes that leave this.
void wait_for_the_latest(StageEnds&, Squares);

}  // namespace sim
