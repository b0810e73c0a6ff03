// SPDX-License-Identifier: Apache-2.0
#include "core/plan/storage.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "core/plan/muon.h"
#include "core/plan/states.h"

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

/// All ranks of a node have written when it has: each at its part of the node's rate.
void write(const Context& c, SegmentBuilder& out, const CheckpointShare& share, bool behind_copy) {
  if (share.rank == 0) return;
  const spec::Checkpoint& checkpoint = *c.job.training.checkpoint;
  const base::ByteRate node = checkpoint.bandwidth.value_or(c.job.cluster.node.nvme.write);
  const double part = static_cast<double>(share.rank) / static_cast<double>(share.node);
  const RatedCopy work{each_step(c, share.rank), share_of(node * part, 1)};
  if (behind_copy) {
    out.beside(work, "checkpoint write", Stream::storage, {Stream::to_host, Stream::cpu});
  } else {
    out.beside(work, "checkpoint write", Stream::storage, {});
  }
}

/// Of `held`, what one rank writes where equal parameters are written by their holders in turn.
std::int64_t written_once(const Context& c, const Held& held) {
  const auto share = [&](std::int64_t count, Axis axis) { return (count + c.axes[axis].size - 1) / c.axes[axis].size; };
  return share(held.dense, Axis::dp) + share(held.experts, Axis::expert_dp);
}

}  // namespace

void begin_storage(const Context& c, SegmentBuilder& out, int stage, const CheckpointShare& checkpoint) {
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
  if (t.checkpoint && t.checkpoint->async) write(c, out, checkpoint, false);
}

void end_storage(const Context& c, SegmentBuilder& out, const CheckpointShare& checkpoint) {
  const spec::Training& t = c.job.training;
  if (!t.checkpoint) return;
  const std::int64_t bytes = each_step(c, checkpoint.rank);
  const spec::Offload& offload = c.strategy.offload;  // what is on the host need not go there
  const std::int64_t weight = weight_beside_state(c), each = weight + optimizer_bytes(c);
  const std::int64_t here =
      (offload.fetches_parameters() ? 0 : weight) + (offload.updates_on_host() ? 0 : optimizer_bytes(c));
  const std::int64_t copied = here == each ? bytes : bytes / each * here;
  if (copied > 0)
    out.beside(RatedCopy{copied, share_of(c.job.cluster.node.pcie.copies(), 1)}, "checkpoint copy to host",
               Stream::to_host, {Stream::compute, Stream::dp});
  if (!t.checkpoint->async) write(c, out, checkpoint, true);
}

std::int64_t checkpoint_bytes(const Context& c, const Held& held) {
  return written_once(c, held) * (weight_beside_state(c) + optimizer_bytes(c));
}

std::int64_t checkpoint_bytes(const Context& c, const std::vector<Chunk>& chunks) {
  const std::int64_t alike = checkpoint_bytes(c, stage_parameters(c, chunks));
  return by_muon(c) ? alike + written_once(c, with_second_moments(c, chunks)) * moment_bytes(c) : alike;
}

CheckpointShare even_share(const Context& c, std::int64_t bytes) { return {bytes, bytes * ranks_of_node(c)}; }

CheckpointShare checkpoint_share(const Context& c, int stage) {
  if (!c.job.training.checkpoint) return {};
  const std::vector<std::vector<Chunk>> chunks = chunks_of(c);
  const auto of = [&](int of_stage) { return checkpoint_bytes(c, chunks[static_cast<std::size_t>(of_stage)]); };
  const int gpus = c.job.cluster.node.gpus, first = c.axes.rank_of(stage, 0) / gpus * gpus;
  std::map<int, std::int64_t> known;
  CheckpointShare out{of(stage), 0};
  for (int rank = first; rank < std::min(first + gpus, c.axes.ranks * c.pp); ++rank) {
    const auto [at, fresh] = known.try_emplace(c.axes.stage_of(rank), 0);
    if (fresh) at->second = of(at->first);
    out.node += at->second;
  }
  return out;
}

}  // namespace plan
