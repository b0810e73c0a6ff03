// SPDX-License-Identifier: Apache-2.0
#include "core/plan/storage.h"

#include <algorithm>
#include <cmath>

namespace plan {
namespace {

/// What one of `ranks` that use a node's path at once gets of it.
std::int64_t share_of(base::ByteRate rate, std::int64_t ranks) {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::min(rate.si(), 1e18)) / ranks);
}

std::int64_t ranks_of_node(const Context& c) {
  return std::min<std::int64_t>(c.job.cluster.node.gpus, std::int64_t{c.axes.ranks} * c.pp);
}

/// A checkpoint every n steps is spread over them: each writes an n-th, which is what a step costs on average, whether
/// training waits for the writing or only for what could not be written before the next one.
std::int64_t each_step(const Context& c, std::int64_t checkpoint) {
  const std::int64_t every = c.job.training.checkpoint->every;
  return (checkpoint + every - 1) / every;
}

void write(const Context& c, SegmentBuilder& out, std::int64_t bytes, bool behind_copy) {
  const spec::Checkpoint& checkpoint = *c.job.training.checkpoint;
  const base::ByteRate node = checkpoint.bandwidth.value_or(c.job.cluster.node.nvme.write);
  const RatedCopy work{bytes, share_of(node, ranks_of_node(c))};
  if (behind_copy) {
    out.beside(work, "checkpoint write", Stream::storage, {Stream::to_host, Stream::cpu});
  } else {
    out.beside(work, "checkpoint write", Stream::storage, {});
  }
}

}  // namespace

void begin_storage(const Context& c, SegmentBuilder& out, int stage, std::int64_t checkpoint) {
  const spec::Training& t = c.job.training;
  if (t.data && stage == 0) {
    const auto samples = static_cast<double>(c.microbatches * c.batch);
    const double bytes = t.data->bytes_per_sample
                             ? samples * t.data->bytes_per_sample->si()
                             : samples * static_cast<double>(t.sequence) * t.data->bytes_per_token->si();
    const std::int64_t readers =
        std::max<std::int64_t>(1, std::min(c.job.cluster.node.gpus, c.axes.ranks) / (c.tp * c.strategy.cp));
    out.beside(RatedCopy{std::llround(bytes), share_of(t.data->bandwidth, readers)}, "read samples", Stream::storage,
               {});
    if (!t.data->prefetch) out.join(Stream::storage);
  }
  if (t.checkpoint && t.checkpoint->async) write(c, out, each_step(c, checkpoint), false);
}

void end_storage(const Context& c, SegmentBuilder& out, std::int64_t checkpoint) {
  const spec::Training& t = c.job.training;
  if (!t.checkpoint) return;
  const std::int64_t bytes = each_step(c, checkpoint);
  const auto pcie = share_of(c.job.cluster.node.pcie.bandwidth, 1);
  const spec::Offload& offload = c.strategy.offload;  // what is on the host need not go there
  const std::int64_t each = c.element + optimizer_bytes(c);
  const std::int64_t here =
      (offload.fetches_parameters() ? 0 : c.element) + (offload.updates_on_host() ? 0 : optimizer_bytes(c));
  const std::int64_t copied = here == each ? bytes : bytes / each * here;
  if (copied > 0)
    out.beside(RatedCopy{copied, pcie}, "checkpoint copy to host", Stream::to_host, {Stream::compute, Stream::dp});
  if (!t.checkpoint->async) write(c, out, bytes, true);
}

std::int64_t checkpoint_bytes(const Context& c, const Held& held) {
  const std::int64_t each = c.element + optimizer_bytes(c);
  const auto share = [&](std::int64_t count, Axis axis) { return (count + c.axes[axis].size - 1) / c.axes[axis].size; };
  return (share(held.dense, Axis::dp) + share(held.experts, Axis::expert_dp)) * each;
}

}  // namespace plan
