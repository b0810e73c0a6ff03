// sim/pricing/couple.h -- fidelity coupled: operators that cross the fabric put flows on it while the step runs, so
// those of different axes share links when, and only when, they overlap.
//
// A folded instance starts the flows of every rank that it stands for, alike ones folded over the whole plan
// (sim/network/cargo.h); an unfolded one its own. Of an operator's price (closed_form.h) its latency stays, and so do
// the bytes inside islands; its bytes between islands become flows, what the protocol loses counted as bytes.
// Leaves out: what stays inside islands (the engine shares NVLink), and groups whose layout is not told: their prices
// hold.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/spec/job.h"
#include "sim/engine/engine.h"
#include "sim/network/closed_form.h"

namespace sim {

/// `crossings`: of each of the plan's works. REQUIRES: one step an operator, as flatten() makes them; a cluster of one
/// kind of node; has_simgrid().
void couple(EngineInput&, const spec::Job&, const std::vector<Crossing>& crossings);

}  // namespace sim
