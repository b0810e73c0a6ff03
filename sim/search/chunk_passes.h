// sim/search/chunk_passes.h -- a chunk's passes written by the plan and measured: what they hold, and how long they
// take when a stage runs them in turns. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/search/chunk_cost.h"

namespace sim {

/// Of a microbatch in the middle of a step.
ChunkMemory memory_of(const plan::Context&, const ChunkOfStage&);
ChunkCost cost_of(const plan::Context&, const ChunkOfStage&, PriceList&);
/// Alone, and beside communication of another axis that outlasts them.
ChunkSections rehearse_sections(const plan::Context&, const ChunkOfStage&, PriceList&);

/// Seconds from the first kernel of a stage's first forwards to the end of the last collective of its last backwards,
/// one behind the other, as a step's first and last microbatch have them (core/plan/build.cpp).
double first_and_last(const plan::Context&, int stage, const std::vector<plan::Chunk>& chunks, PriceList&);

}  // namespace sim
