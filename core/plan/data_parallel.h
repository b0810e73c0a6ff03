// core/plan/data_parallel.h -- gradients reduced in buckets, parameters gathered again (ZeRO-1).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/plan/builder.h"
#include "core/plan/context.h"
#include "core/plan/shares.h"

namespace plan {

/// Fills buckets as the backward makes gradients and sends each off when it is full, on the data-parallel stream behind
/// the compute that made it. All-reduce for zero 0, reduce-scatter for zero 1. Experts' gradients have buckets of their
/// own, for other ranks hold their copies.
class GradientBuckets {
 public:
  GradientBuckets(const Context& c, SegmentBuilder& out) : c_(c), out_(out) {}
  void add(const Held& parameters);         // whose gradients are complete now
  void flush();                             // sends what is left
  void send_whole(const Held& parameters);  // at once, whatever the size of a bucket

 private:
  struct Bucket {
    Axis axis;
    std::int64_t waiting = 0;
  };
  void send(Axis, std::int64_t parameters);
  void reduce(Axis, std::int64_t parameters);
  void fill(Bucket&, std::int64_t parameters);

  const Context& c_;
  SegmentBuilder& out_;
  Bucket dense_{c_.shard_axis}, experts_{Axis::expert_dp};
};

/// Gathers `parameters` parameters (of this rank's tensor-parallel share) from the ranks that updated them.
/// `waits_for_optimizer`: behind the compute stream's latest operator; otherwise as soon as the stream is free.
void gather_parameters(const Context&, SegmentBuilder&, const Held& parameters, bool waits_for_optimizer);

/// HSDP: sums `bytes` of a shard's gradients over the groups that hold the same shard, behind its reduce-scatter.
void reduce_replicas(const Context&, SegmentBuilder&, std::int64_t bytes);

}  // namespace plan
