// SPDX-License-Identifier: Apache-2.0
#include "core/plan/data_parallel.h"

#include <algorithm>

#include "core/plan/offload.h"

namespace plan {
namespace {

/// NCCL's reduce-scatter and all-gather want equal shares: a bucket is padded to a multiple of the group's size.
std::int64_t padded(std::int64_t count, int ranks) { return (count + ranks - 1) / ranks * ranks; }

}  // namespace

void GradientBuckets::send(Axis axis, std::int64_t parameters) {
  const int ranks = c_.axes[axis].size;
  if (ranks > 1 && parameters > 0) reduce(axis, parameters);
  gradients_to_host(c_, out_, (parameters + ranks - 1) / ranks);
}

void GradientBuckets::reduce(Axis axis, std::int64_t parameters) {
  const int ranks = c_.axes[axis].size;
  const bool scatters = c_.strategy.zero >= 1;
  const std::int16_t channel = out_.pool().channel({Channel::Kind::group, axis});
  const std::int64_t bytes = padded(parameters, ranks) * c_.gradient_element;
  const Collective work{scatters ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce, bytes, c_.group(axis)};
  const char* name = scatters ? "gradient reduce-scatter" : "gradient all-reduce";
  if (c_.fully_sharded) {  // a group's collectives share a communicator and follow one another as they are issued
    out_.communicate(work, name, Stream::dp, channel, {Stream::compute, Stream::gather});
  } else {
    out_.communicate(work, name, Stream::dp, channel, {Stream::compute});
  }
  if (axis == Axis::shard) reduce_replicas(c_, out_, bytes / ranks);
  if (c_.scatters_gradients && !c_.overlap_grad_reduce) out_.join(Stream::dp);
}

void reduce_replicas(const Context& c, SegmentBuilder& out, std::int64_t bytes) {
  if (c.axes[Axis::replicate].size == 1) return;
  const std::int16_t channel = out.pool().channel({Channel::Kind::group, Axis::replicate});
  out.communicate(Collective{CollectiveKind::all_reduce, bytes, c.group(Axis::replicate)}, "gradient shard all-reduce",
                  Stream::replicate, channel, {Stream::dp});
}

void GradientBuckets::add(const Held& parameters) {
  fill(dense_, parameters.dense);
  fill(experts_, parameters.experts);
}

void GradientBuckets::fill(Bucket& b, std::int64_t parameters) {
  b.waiting += parameters;
  const auto bucket = static_cast<std::int64_t>(c_.job.framework.gradient_bucket.si()) / c_.gradient_element;
  if (bucket == 0) return;
  // Buckets that one layer fills several times are sent as the few largest pieces that keep their pace: beyond eight of
  // them a finer cut changes nothing but the number of operators.
  const std::int64_t piece = std::max(bucket, b.waiting / 8);
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
    const Collective work{CollectiveKind::all_gather, (padded(count, ranks) - narrow) * c.element + narrow,
                          c.group(axis)};
    if (waits_for_optimizer && c.strategy.offload.updates_on_host()) {
      out.communicate(work, name, Stream::dp, channel, {Stream::compute, Stream::to_device});
    } else if (waits_for_optimizer) {
      out.communicate(work, name, Stream::dp, channel, {Stream::compute});
    } else {
      out.communicate(work, name, Stream::dp, channel, {});
    }
  };
  gather(c.shard_axis, parameters.dense, parameters.narrow_dense, "parameter all-gather");
  gather(Axis::expert_dp, parameters.experts, parameters.narrow_experts, "expert parameter all-gather");
}

}  // namespace plan
