// core/plan/units.h -- zero 2 and 3 inside a chunk's forward and backward: units of parameters gathered ahead of their
// compute and let go behind it, gradients scattered unit by unit.
//
// When compute reaches a unit (unit_cut.h) it waits for the unit's gather, copies the buffer out (where the framework
// does) and asks for the unit `prefetch` further on, so that one flies while the other computes: PyTorch's fully_shard
// with one unit ahead.
// Gathers and reductions of a group share one communicator, hence wait for one another in issue order.
// Where weight gradients run apart, the pass of the inputs gathers and releases, for it alone reads parameters, and the
// pass of the weights holds their gradients and scatters them.
// Frozen weights beside adapters travel with their unit in the format they are kept in (bitsandbytes' packed int8 and
// nf4 under FSDP, too) and have no gradients: what is scattered is the adapters' alone.
// Leaves out: casting the rank's own shard before a gather and adding to its gradient (1/n of a unit's bytes); that
// gradients of norms, which the pass of the inputs makes, live until that of the weights scatters them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/plan/builder.h"
#include "core/plan/context.h"
#include "core/plan/data_parallel.h"
#include "core/plan/shares.h"
#include "core/plan/unit_cut.h"

namespace plan {

/// Gathers of one pass through a chunk.
class Gathers {
 public:
  Gathers(const Context& c, SegmentBuilder& out) : c_(c), out_(out) {}
  void start(const Held& held, int slot, int layer, bool behind_compute);  // on its way, event `slot`
  void arrive(const Held& held, int slot, int layer);                      // compute waits for it and copies it out
  void release(const Held& held);                                          // the whole parameters go

 private:
  std::int64_t bytes(const Held& held) const;  // of what has to be gathered
  void copy_experts(const Held& held, int layer);
  const Context& c_;
  SegmentBuilder& out_;
  EventId before_ = -1, latest_ = -1;  // of the two units asked for before
};

/// Around the layers of a forward. Without effect below zero 3. `gathers_kept`: units that stay are gathered, too.
class ForwardUnits {
 public:
  ForwardUnits(const Context&, SegmentBuilder&, const Chunk&, bool gathers_kept);
  void enter(int layer_of_chunk);
  void leave(int layer_of_chunk);
  void head();  // the output head comes next

 private:
  bool needs(int unit) const;
  void start(int unit, bool behind_compute);

  const Context& c_;
  SegmentBuilder& out_;
  const Chunk& chunk_;
  UnitCut cut_;
  Gathers gathers_;
  bool gathers_kept_;
};

/// Around the layers of a backward, with `weights` the pen of weight gradients that run apart, or the same one. Without
/// effect below zero 2.
class BackwardUnits {
 public:
  /// What this backward does with gradients and units.
  struct Duties {
    bool reduces;        // gradients are scattered
    bool sums_replicas;  // and summed over the replicas of their shards
    bool releases_kept;  // units that stayed gathered go
  };
  BackwardUnits(const Context&, SegmentBuilder&, SegmentBuilder& weights, const Chunk&, Duties);
  void enter(int layer_of_chunk);
  void leave(int layer_of_chunk);     // the layer's parameters are not read again
  void complete(int layer_of_chunk);  // its gradients are there
  void head();                        // so are the head's
  void embedding();                   // the embedding's come next
  void finish();                      // all are there

 private:
  bool needs(int unit) const;
  void start(int unit, bool behind_compute);
  void hold_gradients(const Held&, SegmentBuilder& pen);
  void reduce(const Held&);
  void release_gradients(const Held&);
  void let_go();  // of what the reduction before reads
  Held root_gradients() const;
  std::int64_t gradients_of_embedding() const;
  std::int64_t made() const { return c_.fused_accumulation ? c_.gradient_element : c_.element; }

  const Context& c_;
  SegmentBuilder &out_, &weights_;
  const Chunk& chunk_;
  UnitCut cut_;
  Gathers gathers_;
  GradientBuckets buckets_;
  Duties duties_;
  bool bucketed_;
  std::int64_t in_flight_ = 0;         // bytes of the latest unit's reduction
  std::int64_t flying_gradients_ = 0;  // of the latest unit, where they are reduced without a copy
};

}  // namespace plan
