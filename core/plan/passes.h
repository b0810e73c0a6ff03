// core/plan/passes.h -- one pass of one chunk of the model as a segment: what is received, gathered, computed, reduced
// and sent, in the order in which the host issues it. Which pass comes when is the schedule's (schedule/, build.cpp).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "core/plan/builder.h"
#include "core/plan/context.h"
#include "core/plan/shares.h"
#include "core/plan/stage_edges.h"

namespace plan {

class BackwardOffload;
class BackwardUnits;
class ForwardOffload;
class ForwardUnits;
class GradientBuckets;

class Passes {
 public:
  /// Of the chunks of one stage. All three must outlive it.
  Passes(const Context& c, Pool& pool, int stage, const std::vector<Chunk>& chunks)
      : c_(c), pool_(pool), stage_(stage), edges_(c, stage), chunks_(chunks) {}

  /// What sets a forward apart from the others of its chunk.
  struct ForwardKind {
    bool gathers = false;  // parameters are brought first
    bool first = false;    // of the step
    auto operator<=>(const ForwardKind&) const = default;
  };
  /// What sets a backward apart from the others of its chunk.
  struct BackwardKind {
    bool reduces = false;   // gradients are complete behind it
    bool sums = false;      // and so are the sums over replicas of a shard
    bool releases = false;  // units of parameters are not needed again
    bool adds = false;      // gradients join a sum on the host
    bool odd = false;       // microbatch, of one that meets passes of the vocabulary
    auto operator<=>(const BackwardKind&) const = default;
  };
  /// When weight gradients run: each with its input gradient, in a segment apart, or behind what others wait for.
  enum class Weights : std::uint8_t { at_once, apart, late };
  /// A chunk's backward: whole in `input`, or with the weight gradients apart.
  struct Backward {
    Segment input, weights;
  };

  Segment forward(int chunk, ForwardKind);
  Backward backward(int chunk, BackwardKind, Weights when);
  /// One forward without a backward to come; tokens go round from the last stage to the first.
  Segment infer(bool takes_tokens, bool sends_tokens);

 private:
  int layers_of_group(int chunk) const;  // whose parameters are gathered together
  void gather_group(SegmentBuilder&, int chunk, int first_layer);
  void gather_ahead(SegmentBuilder&, int chunk);
  /// The layer that the pen stands at.
  void write_layer(SegmentBuilder&, spec::Recompute::Kind, bool backward);
  void forward_layers(SegmentBuilder&, int chunk, bool by_buckets, ForwardOffload&, ForwardUnits&);
  void await_microbatch(SegmentBuilder&) const;
  /// `buckets`, here and below: nullptr where gradients are not complete behind this pass.
  void backward_head(SegmentBuilder&, const Chunk&, bool odd, BackwardUnits&, GradientBuckets* buckets);
  class MadeGradients;
  void backward_layers(SegmentBuilder&, const Chunk&, Weights when, BackwardOffload&, BackwardUnits&, GradientBuckets*,
                       MadeGradients&);
  std::int64_t sent_and_kept() const;

  const Context& c_;
  Pool& pool_;
  int stage_;
  StageEdges edges_;
  const std::vector<Chunk>& chunks_;
};

}  // namespace plan
