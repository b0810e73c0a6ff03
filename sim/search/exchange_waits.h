// sim/search/exchange_waits.h -- what a search's upper level adds for ranks that are late (sim/engine/lateness.h): its
// passes were rehearsed a few at a time, but what a data-parallel collective waits for grows with all the kernels since
// the one before, microbatch after microbatch. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "sim/search/pipeline_walk.h"

namespace sim {

/// Adds what they wait for the latest of `ranks` to the exchanges of one stage's chunks, in the order of its passes.
/// Returns the squares of the kernels behind the last exchange, in seconds^2: those of all where there is none.
double wait_for_the_latest(const PipelineShape&, int stage, std::vector<ChunkTimes>& chunks, double jitter, int ranks);

}  // namespace sim
