// sim/pricing/flatten.h -- a Plan and its prices become what the engine runs: steps in one array, instances, meetings.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "core/spec/job.h"
#include "sim/engine/engine.h"
#include "sim/pricing/conditions.h"

namespace sim {

using Prices = std::vector<base::Seconds>;  // of each of a plan's works

/// Folded: one instance a role, collectives of symmetric ranks run alone; unfolded: one instance a rank. Throws
/// base::InputError when the step could outlast the engine's clock (kHorizon).
EngineInput flatten(const plan::Plan&, const Prices&, const spec::Job&);

/// `by_kind`: on each kind of node of a mixed cluster. An instance that stands for ranks on several kinds takes each
/// operator's time on the slowest: they wait for one another in their collectives. Where no kind is slower in all
/// operators this is an upper bound, and unfolding tells how far it is off.
/// Behind them the prices under each of `conditions`, which instances that stand for a touched rank take likewise.
EngineInput flatten(const plan::Plan&, const std::vector<Prices>& by_kind, const spec::Job&,
                    const std::vector<Condition>& conditions = {});

/// Runs the input and tells the Trace. Throws std::logic_error when the plan's operators wait for one another for ever.
trace::Trace simulate(const plan::Plan&, const EngineInput&);

/// The length of that Trace without it: no spans are kept. Throws as simulate().
Ticks length_of(const plan::Plan&, EngineInput);

/// What happened as a Trace: names, layers and microbatches put back, a chain's those of its first operator. Takes the
/// spans of the recorded instances.
trace::Trace to_trace(const plan::Plan&, const EngineInput&, EngineOutput&&);

Ticks to_ticks(base::Seconds);  // rounds to the nearest: the only way in from a formula

}  // namespace sim
