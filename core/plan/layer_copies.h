// core/plan/layer_copies.h -- layers of one kind, asked for by pens that stand alike, are the same operators but for
// the layer's number: they are written once a Plan and copied.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/plan/plan.h"

namespace plan {

struct Context;

/// All that a layer's operators depend on besides the Context: what block.cpp and the files that it calls ask of the
/// layer's number.
struct LayerKind {
  bool backward = false;
  spec::Recompute::Kind recompute = {};
  bool limited = false;
  spec::LayerParts parts = {};
  bool ropes = false, narrow = false;
  /// The same as one number.
  std::int64_t code() const;
  auto operator<=>(const LayerKind&) const = default;
};

LayerKind kind_of(const Context&, int layer, spec::Recompute::Kind, bool backward);

/// What the pen itself hands to the operators that it writes (SegmentBuilder).
struct PenState {
  std::uint64_t joined = 0;
  std::int64_t retained = 0;
  bool first_microbatch = false, adds_gradients = false;
  auto operator<=>(const PenState&) const = default;
};

struct PensState {
  PenState own, weights;
  bool defers = false, delays = false;  // weights has a pen, with its own segment or not
  auto operator<=>(const PensState&) const = default;
};

/// What one pen wrote.
struct Passage {
  std::vector<Operator> operators;
  std::vector<MemoryChange> memory;  // at: counted from the first of them
};

struct LayerCopy {
  std::int16_t layer = -1;  // of which it was written
  Passage own, weights;
  bool used_weights = false;
  PensState after;
  Phase phase{};  // left to the pen
};

using LayerCopies = std::map<std::pair<LayerKind, PensState>, LayerCopy>;

}  // namespace plan
