// sim/search/pass_sections.h -- where in a short pass it matters that something else begins: sections in which the same
// links are held, made of what a rehearsal saw. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/plan/context.h"
#include "sim/search/chunk_cost.h"
#include "sim/search/rehearsal.h"

namespace sim {

/// What the engine's law (sim/engine/sharing.h) makes of a pass's stretches, neighbours that hold the same links taken
/// together by their mean. Leaves out: communication that kernels hide until something slows it.
std::vector<PassSection> sections_of(const plan::Context&, const std::vector<Stretch>&);

}  // namespace sim
