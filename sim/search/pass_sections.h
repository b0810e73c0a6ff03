// sim/search/pass_sections.h -- where in a pass it matters that something else begins: sections in which the same
// links are held, made of what a rehearsal saw. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/plan/context.h"
#include "sim/search/chunk_cost.h"
#include "sim/search/rehearsal.h"

namespace sim {

/// What the engine's law (sim/engine/sharing.h) makes of a pass's stretches, neighbours that hold the same links taken
/// together by their mean.
std::vector<PassSection> sections_of(const plan::Context&, const std::vector<Stretch>&);

/// Of a pass's sections what they lose to a transfer, or to a collective of the data-parallel axis, as it was rehearsed
/// beside one: communication that kernels hide alone may outlast them then.
void measure(const plan::Context&, const Course& alone, const Course& beside, bool transfer, std::vector<PassSection>&);

}  // namespace sim
