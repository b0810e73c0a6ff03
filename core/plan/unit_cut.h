// core/plan/unit_cut.h -- how the parameters of a chunk fall into units under zero 3.
// SPDX-License-Identifier: Apache-2.0
//
// A unit of a transformer is a block, or a group of them; embedding, head and final norm of a chunk are the root unit.
// In a list of operators a block is a module: neighbours whose names differ behind the last dot alone (layer1.0.conv1,
// layer1.0.bn1), as users of fully_shard wrap a network's residual blocks; operators without a dot are of the root
// unit.
#pragma once

#include <cstdint>
#include <vector>

#include "core/plan/context.h"
#include "core/plan/shares.h"

namespace plan {

/// Whether gathered parameters that are not let go at once stay over all microbatches, from the first forward to the
/// last backward: with several microbatches in flight. Otherwise each forward gathers and its own backward releases.
bool keeps_over_step(const Context&);

class UnitCut {
 public:
  UnitCut(const Context& c, const Chunk& chunk);
  int count() const { return static_cast<int>(units_.size()); }
  int of(int layer_of_chunk) const;  // -1: the root unit
  std::int16_t first_layer(int unit) const {
    return static_cast<std::int16_t>(chunk_.first_layer + units_[unit].first);
  }
  bool opens(int layer_of_chunk) const;
  bool closes(int layer_of_chunk) const;
  Held held(int unit) const;  // parameters of one rank when gathered
  Held root() const;
  Held loose() const;  // of the root unit, operators between its ends
  /// Whether a unit stays gathered from its forward to its backward.
  bool kept(int unit) const;

 private:
  struct Span {
    int first, end;  // layers of the chunk
  };
  std::vector<Span> blocks() const;

  const Context& c_;
  const Chunk& chunk_;
  std::vector<Span> units_;  // in the chunk's order
};

}  // namespace plan
