// SPDX-License-Identifier: Apache-2.0
#include "core/plan/data_parallel.h"

#include <algorithm>

namespace plan {
namespace {

/// NCCL's reduce-scatter and all-gather want equal shares: a bucket is padded to a multiple of the group's size.
std::int64_t padded(std::int64_t count, int ranks) { return (count + ranks - 1) / ranks * ranks; }

}  // namespace

void GradientBuckets::send(std::int64_t parameters) {
  if (c_.dp == 1 || parameters == 0) return;
  const bool scatters = c_.strategy.zero >= 1;
  const std::int16_t channel = out_.pool().channel({Channel::Kind::group, Axis::dp});
  const std::int64_t bytes = padded(parameters, c_.dp) * c_.gradient_element;
  out_.communicate(
      Collective{scatters ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce, bytes, c_.dp_group},
      scatters ? "gradient reduce-scatter" : "gradient all-reduce", Stream::dp, channel, {Stream::compute});
}

void GradientBuckets::add(std::int64_t parameters) {
  waiting_ += parameters;
  const auto bucket = static_cast<std::int64_t>(c_.job.framework.gradient_bucket.si()) / c_.gradient_element;
  if (bucket == 0) return;
  // Buckets that one layer fills several times are sent as the few largest pieces that keep their pace: beyond eight of
  // them a finer cut changes nothing but the number of operators.
  const std::int64_t piece = std::max(bucket, waiting_ / 8);
  for (; waiting_ >= piece; waiting_ -= piece) send(piece);
}

void GradientBuckets::flush() {
  send(waiting_);
  waiting_ = 0;
}

void gather_parameters(const Context& c, SegmentBuilder& out, std::int64_t parameters, bool waits_for_optimizer) {
  if (c.dp == 1 || parameters == 0) return;
  const std::int16_t channel = out.pool().channel({Channel::Kind::group, Axis::dp});
  const Collective gather{CollectiveKind::all_gather, padded(parameters, c.dp) * c.element, c.dp_group};
  if (waits_for_optimizer) {
    out.communicate(gather, "parameter all-gather", Stream::dp, channel, {Stream::compute});
  } else {
    out.communicate(gather, "parameter all-gather", Stream::dp, channel, {});
  }
}

}  // namespace plan
