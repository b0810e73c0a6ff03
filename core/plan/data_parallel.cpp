// SPDX-License-Identifier: Apache-2.0
#include "core/plan/data_parallel.h"

#include <algorithm>

#include "core/plan/low_precision.h"
#include "core/plan/muon.h"
#include "core/plan/offload.h"
#include "core/plan/states.h"

namespace plan {

std::int64_t bucket_elements(const Context& c, base::Bytes bytes, std::int64_t element) {
  const int ranks = c.job.framework.bucket_ranks;
  const double growth = ranks > 0 ? std::max(1.0, static_cast<double>(c.job.strategy.dp.value_or(1)) / ranks) : 1.0;
  return static_cast<std::int64_t>(bytes.si() * growth) / element;
}

bool has_buckets(const Context& c, int stage, int chunk) {
  return !c.job.framework.whole_later_chunks || (stage == 0 && chunk == 0);
}

std::int64_t late_table(const Context& c) {
  const bool beside = c.overlap_grad_reduce || c.scatters_gradients;
  if (!beside || !c.placement.crossing() || c.strategy.lora) return 0;
  if (c.model.mtp > 0) return embedding_parameters(c);
  return c.model.tied_embeddings ? c.vocab * c.hidden : 0;
}

int layers_a_gather(const Context& c, const Chunk& chunk, bool bucketed) {
  // The first layer may be dense where all others have experts.
  const std::int64_t first = layer_parameters(c, chunk.first_layer).total();
  const std::int64_t layer =
      chunk.layers > 1 ? std::max(first, layer_parameters(c, chunk.first_layer + chunk.layers - 1).total()) : first;
  const std::int64_t bucket = bucketed ? bucket_elements(c, c.job.framework.parameter_bucket, weight_element(c)) : 0;
  return bucket == 0 ? chunk.layers : static_cast<int>(std::max<std::int64_t>(1, bucket / layer));
}

bool copies_buckets(const Context& c) {
  const bool reduces = c.axes[c.shard_axis].size > 1 || c.axes[c.expert_shard_axis].size > 1;
  return c.job.framework.bucket_copies && c.strategy.zero == 0 && reduces;
}

std::int64_t bucket_copies(const Context& c, const Held& held) {
  if (!copies_buckets(c)) return 0;
  const std::int64_t dense = c.axes[c.shard_axis].size > 1 ? held.dense : 0;
  const std::int64_t experts = c.axes[c.expert_shard_axis].size > 1 ? held.experts : 0;
  return (dense + experts) * c.gradient_element;
}

void copy_buckets_back(const Context& c, SegmentBuilder& out, const Held& held) {
  const std::int64_t bytes = bucket_copies(c, held);
  if (bytes > 0) out.compute(MemoryBound{MemoryBound::Kind::copy, bytes, bytes, 1}, "bucket copy-out", 1);
}

GradientBuckets::GradientBuckets(const Context& c, SegmentBuilder& out, BucketRules rules)
    : c_(c),
      out_(out),
      bucket_(rules.by_size ? bucket_elements(c, c.job.framework.gradient_bucket, c.gradient_element) : 0),
      sums_replicas_(rules.sums_replicas) {}

void GradientBuckets::send(Axis axis, std::int64_t parameters) {
  const int ranks = c_.axes[axis].size;
  if (parameters == 0) return;
  if (ranks > 1) {
    reduce(axis, parameters);
  } else if (sums_replicas_) {
    reduce_replicas(c_, out_, axis, parameters * c_.gradient_element, Stream::compute);
  }
  gradients_to_host(c_, out_, (parameters + ranks - 1) / ranks);
}

void GradientBuckets::reduce(Axis axis, std::int64_t parameters) {
  const int ranks = c_.axes[axis].size;
  const bool whole = by_muon(c_) || (c_.job.framework.all_reduces_shards && !c_.fully_sharded);
  const bool scatters = c_.strategy.zero >= 1 && !whole;
  const std::int16_t channel = out_.pool().channel({Channel::Kind::group, axis});
  const std::int64_t bytes = padded(parameters, ranks) * c_.gradient_element;
  const Collective work{scatters ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce, bytes, c_.group(axis)};
  const char* name = scatters ? "gradient reduce-scatter" : "gradient all-reduce";
  if (copies_buckets(c_)) {
    out_.compute(MemoryBound{MemoryBound::Kind::copy, bytes, bytes, 1}, "bucket copy-in", 1);
  }
  if (c_.job.framework.scales_gradients && !c_.scatters_gradients) {
    out_.compute(MemoryBound{MemoryBound::Kind::elementwise, bytes, bytes, 1}, "bucket scaling", 1);
  }
  if (const int passes = c_.job.framework.bucket_passes; passes > 0 && c_.strategy.zero >= 1) {
    const std::int64_t moved = bytes * (passes + (c_.scatters_gradients ? 0 : 1));
    out_.compute(MemoryBound{MemoryBound::Kind::copy, moved, moved, 1}, "bucket layout", passes + 1);
  }
  if (c_.fully_sharded) {  // a group's collectives share a communicator and follow one another as they are issued
    out_.communicate(work, name, Stream::dp, channel, {Stream::compute, Stream::gather});
  } else {
    out_.communicate(work, name, Stream::dp, channel, {Stream::compute});
  }
  out_.pad(padded(parameters, ranks) - parameters);
  if (sums_replicas_) reduce_replicas(c_, out_, axis, bytes / ranks, Stream::dp);
  if (c_.scatters_gradients && !c_.overlap_grad_reduce) out_.join(Stream::dp);
}

void reduce_replicas(const Context& c, SegmentBuilder& out, Axis shards, std::int64_t bytes, Stream behind) {
  if (shards != Axis::shard && shards != Axis::expert_shard) return;
  const Axis across = shards == Axis::shard ? Axis::replicate : Axis::expert_replicate;
  if (c.axes[across].size == 1) return;
  const std::int16_t channel = out.pool().channel({Channel::Kind::group, across});
  out.communicate(Collective{CollectiveKind::all_reduce, bytes, c.group(across)}, "gradient shard all-reduce",
                  Stream::replicate, channel, {behind});
}

void GradientBuckets::add(const Held& parameters) {
  fill(dense_, parameters.dense);
  fill(experts_, parameters.experts);
}

void GradientBuckets::fill(Bucket& b, std::int64_t parameters) {
  b.waiting += parameters;
  if (bucket_ == 0) return;
  // Buckets that one layer fills several times are sent as the few largest pieces that keep their pace: beyond eight of
  // them a finer cut changes nothing but the number of operators.
  const std::int64_t piece = std::max(bucket_, b.waiting / 8);
  for (; b.waiting >= piece; b.waiting -= piece) send(b.axis, piece);
}

void GradientBuckets::flush() {
  for (Bucket* b : {&dense_, &experts_}) {
    send(b->axis, b->waiting);
    b->waiting = 0;
  }
}

void GradientBuckets::send_whole(const Held& parameters) {
  send(dense_.axis, parameters.dense);
  send(experts_.axis, parameters.experts);
}

void gather_parameters(const Context& c, SegmentBuilder& out, const Held& parameters, bool waits_for_optimizer) {
  const auto gather = [&](Axis axis, std::int64_t count, std::int64_t narrow, const char* name) {
    const int ranks = c.axes[axis].size;
    if (ranks == 1 || count == 0) return;
    const std::int16_t channel = out.pool().channel({Channel::Kind::group, axis});
    const std::int64_t bytes = (padded(count, ranks) - narrow) * weight_element(c) + code_bytes(c, narrow);
    const Collective work{CollectiveKind::all_gather, bytes, c.group(axis)};
    if (waits_for_optimizer && c.strategy.offload.updates_on_host()) {
      out.communicate(work, name, Stream::dp, channel, {Stream::compute, Stream::to_device});
    } else if (waits_for_optimizer) {
      out.communicate(work, name, Stream::dp, channel, {Stream::compute});
    } else {
      out.communicate(work, name, Stream::dp, channel, {});
    }
    out.pad(padded(count, ranks) - count);
  };
  const bool narrow = gathers_narrow(c);
  gather(c.shard_axis, parameters.dense, narrow ? parameters.narrow_dense : 0, "parameter all-gather");
  gather(c.expert_shard_axis, parameters.experts, narrow ? parameters.narrow_experts : 0,
         "expert parameter all-gather");
}

}  // namespace plan
