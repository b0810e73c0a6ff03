// core/spec/placement.h -- which stage holds which chunk of the model. Places count the chunks of one copy of the model
// in model order. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/spec/strategy.h"

namespace spec {

class Placement {
 public:
  Placement(ChunkShape shape, int stages, int chunks)
      : shape_(shape), stages_(stages), places_(shape == ChunkShape::two_way ? stages : stages * chunks) {}
  explicit Placement(const Strategy& s) : Placement(s.traits().shape, s.pp, s.chunks_a_stage()) {}

  int places() const { return places_; }
  int place(int stage, int chunk) const {
    if (shape_ == ChunkShape::ring || chunk == 0) return chunk * stages_ + stage;
    return places_ - 1 - stage;
  }
  /// Of a copy of the model: `chunk` is any of that copy's (dualpipe's copies are the chunks).
  int stage_of(int place, int chunk) const {
    switch (shape_) {
      case ChunkShape::ring: return place % stages_;
      case ChunkShape::v: return place < stages_ ? place : places_ - 1 - place;
      case ChunkShape::two_way: return chunk == 0 ? place : places_ - 1 - place;
    }
    return place;
  }
  /// The stage that forwards to a chunk, and the one it forwards to; -1 at the ends of the model.
  int before(int stage, int chunk) const {
    const int at = place(stage, chunk);
    return at == 0 ? -1 : stage_of(at - 1, chunk);
  }
  int behind(int stage, int chunk) const {
    const int at = place(stage, chunk);
    return at == places_ - 1 ? -1 : stage_of(at + 1, chunk);
  }
  /// Whether the embedding and the head of a copy, or of both copies, sit on the same stage.
  bool ends_meet() const { return stages_ == 1 || shape_ != ChunkShape::ring; }
  /// Whether activations and gradients cross a link in the same direction.
  bool crossing() const { return shape_ != ChunkShape::ring; }
  /// Whether each chunk has a copy on another stage.
  bool two_copies() const { return shape_ == ChunkShape::two_way; }

 private:
  ChunkShape shape_;
  int stages_, places_;
};

}  // namespace spec
