// core/plan/schedule/placement.h -- which stage holds which chunk of the model. Places count the chunks of one copy of
// the model in model order. Round the stages for interleaving; down and up again (a V) for zb-v; for dualpipe two
// copies, one of which goes up. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/spec/strategy.h"

namespace plan {

class Placement {
 public:
  Placement(spec::Schedule schedule, int stages, int chunks)
      : shape_(schedule == spec::Schedule::zb_v       ? Shape::v
               : schedule == spec::Schedule::dualpipe ? Shape::two_way
                                                      : Shape::ring),
        stages_(stages),
        places_(shape_ == Shape::two_way ? stages : stages * chunks) {}

  int places() const { return places_; }
  int place(int stage, int chunk) const {
    if (shape_ == Shape::ring || chunk == 0) return chunk * stages_ + stage;
    return places_ - 1 - stage;
  }
  /// Of a copy of the model: `chunk` is any of that copy's (dualpipe's copies are the chunks).
  int stage_of(int place, int chunk) const {
    switch (shape_) {
      case Shape::ring: return place % stages_;
      case Shape::v: return place < stages_ ? place : places_ - 1 - place;
      case Shape::two_way: return chunk == 0 ? place : places_ - 1 - place;
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
  bool ends_meet() const { return stages_ == 1 || shape_ != Shape::ring; }
  /// Whether activations and gradients cross a link in the same direction.
  bool crossing() const { return shape_ != Shape::ring; }
  /// Whether each chunk has a copy on another stage.
  bool two_copies() const { return shape_ == Shape::two_way; }

 private:
  enum class Shape { ring, v, two_way } shape_;
  int stages_, places_;
};

}  // namespace plan
