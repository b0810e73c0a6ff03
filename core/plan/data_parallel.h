// core/plan/data_parallel.h -- gradients reduced in buckets, parameters gathered again (ZeRO-1).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/plan/builder.h"
#include "core/plan/context.h"
#include "core/plan/shares.h"

namespace plan {

/// Elements of `element` bytes in a bucket of `bytes`, grown with the data-parallel ranks as the framework grows it, so
/// that a ring's share of it stays worth sending. 0: all in one.
std::int64_t bucket_elements(const Context&, base::Bytes, std::int64_t element);
/// Whether a chunk has buckets at all, or all its gradients and parameters travel at once because the framework holds
/// that nothing waits for them there (Framework::whole_later_chunks).
bool has_buckets(const Context&, int stage, int chunk);

/// Elements of a table that the embedding in one chunk of a stage and the head in another one share, or of an embedding
/// whose rows modules of multi-token prediction look up beside that head: both add to its gradient, so that with
/// overlapped reductions, or those of zero 2 and 3, it leaves behind all passes. 0: none.
std::int64_t late_table(const Context&);

/// Layers of a chunk whose parameters are gathered at once in front of its first forward (ZeRO-1 with
/// overlap.param_gather).
int layers_a_gather(const Context&, const Chunk&, bool bucketed);

/// Whether gradients that other ranks hold too have a copy in a bucket for good (Framework::bucket_copies), and bytes
/// of those copies.
bool copies_buckets(const Context&);
std::int64_t bucket_copies(const Context&, const Held&);
/// Brings them back when all are reduced. Without effect where there are no copies.
void copy_buckets_back(const Context&, SegmentBuilder&, const Held&);

/// How gradients leave.
struct BucketRules {
  bool by_size = true;        // as each bucket is full; otherwise in one bucket at the end
  bool sums_replicas = true;  // shards are summed over their replicas behind each reduce-scatter
};

/// Fills buckets as the backward makes gradients and sends each off when it is full, on the data-parallel stream behind
/// the compute that made it. All-reduce for zero 0, reduce-scatter above it, unless the framework
/// all-reduces there, too (Framework::all_reduces_shards). Experts' gradients have buckets of their own, for other
/// ranks hold their copies.
class GradientBuckets {
 public:
  GradientBuckets(const Context& c, SegmentBuilder& out, BucketRules rules = {});
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
  Bucket dense_{c_.shard_axis}, experts_{c_.expert_shard_axis};
  std::int64_t bucket_;  // parameters; 0: one for all
  bool sums_replicas_;
};

/// Gathers `parameters` parameters (of this rank's tensor-parallel share) from the ranks that updated them, in the
/// dtype that they are kept in (as PyTorch does, torch/distributed/optim/zero_redundancy_optimizer.py, 2.0 to 2.9).
/// `waits_for_optimizer`: behind the compute stream's latest operator; otherwise as soon as the stream is free.
void gather_parameters(const Context&, SegmentBuilder&, const Held& parameters, bool waits_for_optimizer);

/// HSDP: sums `bytes` of a shard's gradients over the groups that hold the same shard, behind its reduce-scatter (or
/// the compute, where a shard is the whole). `shards`: the axis of its group; nothing is summed where that is no group
/// of HSDP.
void reduce_replicas(const Context&, SegmentBuilder&, Axis shards, std::int64_t bytes, Stream behind);

}  // namespace plan
