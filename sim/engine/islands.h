// sim/engine/islands.h -- which instances run together. Ranks of one replica meet at every layer, replicas only to
// reduce gradients; a replica whose ranks wait for no other runs ahead of the rest, on state that stays in the cache.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/engine/engine.h"

namespace sim {

struct Islands {
  std::vector<std::int32_t> of;     // island of each instance
  std::vector<std::int32_t> order;  // instances, island after island
  std::vector<std::int32_t> begin;  // first of each island in that order, and the end
  std::size_t count() const { return begin.size() - 1; }
};

/// Joins instances that meet, those that meet most often first, as long as their island stays within `largest`. Any
/// partition gives the same run.
Islands islands_of(const EngineInput&, int largest);

}  // namespace sim
