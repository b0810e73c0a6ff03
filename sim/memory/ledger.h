// sim/memory/ledger.h -- follows a Plan's buffers through a role's program and finds the peak. Buffers are taken and
// given back in the order in which the host issues operators, as PyTorch's caching allocator sees them, so the peak
// needs no clock; the Trace gives it its instant. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "core/plan/plan.h"
#include "core/trace/trace.h"
#include "sim/engine/engine.h"

namespace sim {

struct MemoryPeak {
  std::array<std::int64_t, plan::kCategories> bytes{};  // held at the moment of the peak, by category
  std::int32_t call = -1, op = -1;  // before which operator; -1: nothing moves, the peak is what is resident
  std::int64_t total() const;
};

/// The moment of most bytes. `resident_apart`: what a step holds in a pool of its own is there all the time.
MemoryPeak peak_of(const plan::Plan&, const plan::Role&, bool resident_apart = false);

/// How much a byte of each category counts.
using ByteWeights = std::array<double, plan::kCategories>;
/// The moment at which what is held counts most.
MemoryPeak heaviest(const plan::Plan&, const plan::Role&, const ByteWeights&, bool resident_apart);

/// Where in trace.tracks the rank that stands for a role begins.
std::size_t tracks_of(const trace::Trace&, const plan::Role&);

/// Allocated bytes over time, for the role whose tracks begin at trace.tracks[first]; an instant has one point, or two
/// where it ends lower than it was within. REQUIRES: a trace of operators, not of chains.
trace::MemoryTrack timeline(const plan::Plan&, const plan::Role&, const trace::Trace&, std::size_t first);

/// When the operator `op` of call `call` began on that role; within a chain, by its share of the chain's time.
trace::Ticks instant_of(const EngineInput&, const plan::Role&, const trace::Trace&, std::size_t first,
                        std::int32_t call, std::int32_t op);

}  // namespace sim
