// SPDX-License-Identifier: Apache-2.0
#include "sim/search/chunk_cost.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "core/plan/low_precision.h"
#include "core/plan/passes.h"
#include "core/plan/units.h"
#include "sim/search/rehearsal.h"

namespace sim {
namespace {

using plan::Category;

/// Layers rehearsed, from which more of them are carried on: with units of parameters gathered ahead, more than are on
/// their way at once.
struct Few {
  int fewer, more;
};
constexpr int kFewerAtEnds = 4, kMoreAtEnds = 8;  // where buckets fill over several layers
Few few_layers(const plan::Context& c) {
  if (!c.scatters_gradients) return {3, 4};
  const int ahead = (c.strategy.fsdp.prefetch + 2) * std::max(1, c.strategy.fsdp.unit);
  return {ahead + 1, ahead + 1 + std::max(1, c.strategy.fsdp.unit)};
}

void add(Rise& to, Category category, std::int64_t bytes) {
  switch (category) {
    case Category::activations:
    case Category::logits:
    case Category::workspace: to.moving += bytes; break;
    case Category::communication: to.communication += bytes; break;
    default: to.other += bytes;
  }
}

void note_memory(const plan::Segment& segment, PassCost& out) {
  Rise level;
  for (const plan::MemoryChange& change : segment.memory) {
    add(level, change.category, change.bytes);
    if (level.total() > out.highest.total()) out.highest = level;
  }
  out.net = level;
}

void note_time(const Rehearsal& ran, std::size_t call, PassCost& out) {
  out.time = ran.begin[call + 1] - ran.begin[call];
  const double waits = std::max(0.0, out.time - ran.kernels[call]);
  const double flies = ran.tp[call] + ran.cp[call] + ran.ep[call];
  if (flies <= 0) return;
  const double exposed = std::min(1.0, waits / flies);
  out.tp = ran.tp[call] * exposed;
  out.cp = ran.cp[call] * exposed;
  out.ep = ran.ep[call] * exposed;
}

std::int64_t pool_of(const plan::Plan& plan, const plan::Segment& segment) {
  std::int64_t most = 0, before = 0;
  for (const plan::Operator& op : segment.operators) {
    if (op.stream != plan::Stream::gather) continue;
    const auto* gather = std::get_if<plan::Collective>(&plan.works[op.work]);
    if (!gather) continue;
    most = std::max(most, before + gather->bytes);
    before = gather->bytes;
  }
  return most;
}

/// Writes a chunk's passes as the middle of a step has them, and runs them in turns.
ChunkCost rehearsed(const plan::Context& c, int stage, const std::vector<plan::Chunk>& chunks, int index,
                    PriceList& prices) {
  plan::Plan plan;
  plan.axes = c.axes;
  plan.pp = c.pp;
  plan::Pool pool(plan);
  plan::Passes passes(c, pool, stage, chunks);
  const bool keeps = c.fully_sharded && plan::keeps_over_step(c);
  const bool syncs = c.scatters_gradients && c.strategy.fsdp.sync_each_microbatch;
  const bool gathers = c.fully_sharded && !keeps, split = c.strategy.zero_bubble();
  const plan::Segment forward = passes.forward(index, gathers, false);
  const plan::Passes::Backward backward =
      passes.backward(index, syncs, !keeps, split ? plan::Passes::Weights::apart : plan::Passes::Weights::at_once, false);
  const bool casts = spec::bytes_of(c.dtype) < 2 && plan::keeps_casts(c);
  const plan::Segment first = casts ? passes.forward(index, gathers, true) : forward;

  ChunkCost out;
  note_memory(forward, out.forward);
  note_memory(backward.input, out.backward);
  note_memory(backward.weights, out.weights);
  out.gather_pool = std::max(pool_of(plan, forward), pool_of(plan, backward.input));
  for (const plan::Segment* segment : {&forward, &backward.input, &backward.weights, &first}) {
    plan.segments.push_back(without_transfers(plan, *segment));
  }
  constexpr std::int32_t F = 0, B = 1, W = 2, first_F = 3;
  const std::vector<std::int32_t> calls = split ? std::vector<std::int32_t>{first_F, B, W, F, B, W, F}
                                                : std::vector<std::int32_t>{first_F, B, F, B, F};
  const Rehearsal ran = rehearse(std::move(plan), stage, calls, c.job, prices);
  const std::size_t second = split ? 3 : 2;
  out.first_forward = ran.begin[1] - ran.begin[0];
  note_time(ran, second, out.forward);
  note_time(ran, second + 1, out.backward);
  if (split) note_time(ran, second + 2, out.weights);
  return out;
}

/// Seconds from the first kernel of a stage's first forwards to the end of the last collective of its last backwards, one
/// behind the other, as a step's first and last microbatch have them (core/plan/build.cpp).
double first_and_last(const plan::Context& c, int stage, const std::vector<plan::Chunk>& chunks, PriceList& prices) {
  plan::Plan plan;
  plan.axes = c.axes;
  plan.pp = c.pp;
  plan::Pool pool(plan);
  plan::Passes passes(c, pool, stage, chunks);
  const bool keeps = c.fully_sharded && plan::keeps_over_step(c), split = c.strategy.zero_bubble();
  const bool gathers = c.strategy.zero >= 1 && !c.fully_sharded && c.overlap_param_gather && c.replicated();
  const bool reduces = c.scatters_gradients || (c.overlap_grad_reduce && c.replicated());
  const bool casts = spec::bytes_of(c.dtype) < 2 && plan::keeps_casts(c);
  for (int v = 0; v < c.vpp; ++v) {
    plan.segments.push_back(without_transfers(
        plan, passes.forward(v, c.fully_sharded || gathers, gathers || keeps || casts)));
  }
  for (int v = c.vpp - 1; v >= 0; --v) {
    const plan::Passes::Backward parts = passes.backward(
        v, reduces, true, split ? plan::Passes::Weights::apart : plan::Passes::Weights::at_once, false);
    plan.segments.push_back(without_transfers(plan, parts.input));
    if (split) plan.segments.push_back(without_transfers(plan, parts.weights));
  }
  std::vector<std::int32_t> calls;
  for (std::size_t i = 0; i < plan.segments.size(); ++i) calls.push_back(static_cast<std::int32_t>(i));
  return rehearse(std::move(plan), stage, calls, c.job, prices).end - c.job.framework.step.si();
}

/// What `n` layers come to when each adds what the last of `more` added to `fewer`.
template <class T>
T carried(T at_fewer, T at_more, const Few& few, int n) {
  return at_fewer + (at_more - at_fewer) * (n - few.fewer) / (few.more - few.fewer);
}

Rise carried(const Rise& a, const Rise& b, const Few& few, int n) {
  return {carried(a.moving, b.moving, few, n), carried(a.communication, b.communication, few, n),
          carried(a.other, b.other, few, n)};
}

PassCost carried(const PassCost& a, const PassCost& b, const Few& few, int n) {
  return {carried(a.time, b.time, few, n), carried(a.tp, b.tp, few, n), carried(a.cp, b.cp, few, n),
          carried(a.ep, b.ep, few, n), carried(a.highest, b.highest, few, n), carried(a.net, b.net, few, n)};
}

void add(std::vector<std::int64_t>& key, const plan::GroupShape& g) {
  key.insert(key.end(), {g.size, g.per_domain, g.domains, g.sharing, g.layout.stride, g.layout.starts, g.layout.block});
}

}  // namespace

bool uniform(const plan::Context& c, const plan::Chunk& chunk) {
  if (c.scatters_gradients && c.strategy.fsdp.unit == 0) return false;  // a unit is all of the chunk
  const spec::Recompute& recompute = c.strategy.recompute;
  const bool part = recompute.kind == spec::Recompute::Kind::full && recompute.layers > 0;
  const bool windows = c.model.window > 0 && c.model.window_every > 1;
  const bool wide = c.job.training.wide_layers.first > 0 || c.job.training.wide_layers.last > 0;
  if (part || windows || wide) return false;
  if (!c.model.moe) return true;
  for (int i = 1; i < chunk.layers; ++i) {
    if (c.experts_in(chunk.first_layer + i) != c.experts_in(chunk.first_layer)) return false;
  }
  return true;
}

double ChunkCosts::exchanges(const plan::Context& c, int stage, const std::vector<plan::Chunk>& chunks, PriceList& prices) {
  const auto beyond = [&](const std::vector<plan::Chunk>& some) {
    double usual = 0;
    for (int v = 0; v < c.vpp; ++v) {
      const ChunkCost cost = of(c, stage, some, v, prices);
      usual += cost.forward.time + cost.backward.time + cost.weights.time;
    }
    return first_and_last(c, stage, some, prices) - usual;
  };
  const int layers = chunks.front().layers;
  const bool alike = std::all_of(chunks.begin(), chunks.end(), [&](const plan::Chunk& chunk) {
    return uniform(c, chunk) && chunk.layers == layers;
  });
  if (!alike || layers <= kMoreAtEnds) return beyond(chunks);
  std::vector<plan::Chunk> shorter = chunks;
  const Few few{kFewerAtEnds, kMoreAtEnds};
  for (plan::Chunk& chunk : shorter) chunk.layers = few.fewer;
  const double at_fewer = beyond(shorter);
  for (plan::Chunk& chunk : shorter) chunk.layers = few.more;
  return carried(at_fewer, beyond(shorter), few, layers);
}

ChunkCosts::Group& ChunkCosts::group_of(const plan::Context& c) {
  const spec::Strategy& s = c.strategy;
  Key key{s.tp, s.sp, s.cp, static_cast<int>(s.cp_kind), c.batch, static_cast<int>(s.recompute.kind),
          s.recompute.layers, static_cast<int>(c.attention), static_cast<int>(c.tp_overlap), s.ep, s.etp,
          c.overlap_p2p, static_cast<int>(s.schedule), c.pp > 1, c.vpp > 1, c.placement.crossing(),
          static_cast<int>(s.moe_dispatcher), c.scatters_gradients, c.vocab};
  for (const plan::Axis axis : {plan::Axis::tp, plan::Axis::cp, plan::Axis::ep, plan::Axis::etp}) add(key, c.group(axis));
  if (c.scatters_gradients) {
    key.insert(key.end(), {s.zero, s.shard, c.dp, c.pp, c.overlap_grad_reduce, c.overlap_param_gather, s.fsdp.reshard,
                           s.fsdp.sync_each_microbatch, c.microbatches > 1});
    for (const plan::Axis axis : {c.shard_axis, c.expert_shard_axis, plan::Axis::replicate}) add(key, c.group(axis));
  }
  const std::lock_guard lock(guard_);
  std::unique_ptr<Group>& group = groups_[key];
  if (!group) group = std::make_unique<Group>();
  return *group;
}

ChunkCost ChunkCosts::known(Group& group, const plan::Context& c, int stage, std::vector<plan::Chunk> chunks, int index,
                            PriceList& prices) {
  const plan::Chunk& chunk = chunks[index];
  const int before = c.placement.before(stage, index), behind = c.placement.behind(stage, index);
  Key key{chunk.layers, chunk.first, chunk.last, before >= 0 && before != stage, behind >= 0 && behind != stage};
  if (uniform(c, chunk)) {
    key.push_back(chunk.layers > 0 && c.experts_in(chunk.first_layer));
  } else {
    key.insert(key.end(), {chunk.first_layer, chunk.index_in_stage, -1});
  }
  if (c.scatters_gradients) key.push_back(plan::has_buckets(c, stage, index));
  {
    const std::lock_guard lock(group.guard);
    if (const auto it = group.known.find(key); it != group.known.end()) return it->second;
  }
  const ChunkCost cost = rehearsed(c, stage, chunks, index, prices);
  const std::lock_guard lock(group.guard);
  return group.known.try_emplace(std::move(key), cost).first->second;
}

ChunkCost ChunkCosts::of(const plan::Context& c, int stage, const std::vector<plan::Chunk>& chunks, int index,
                         PriceList& prices) {
  Group& group = group_of(c);
  const Few few = few_layers(c);
  const int layers = chunks[index].layers;
  if (layers <= few.more || !uniform(c, chunks[index])) return known(group, c, stage, chunks, index, prices);
  std::vector<plan::Chunk> shorter = chunks;
  shorter[index].layers = few.fewer;
  const ChunkCost a = known(group, c, stage, shorter, index, prices);
  shorter[index].layers = few.more;
  const ChunkCost b = known(group, c, stage, shorter, index, prices);
  return {carried(a.forward, b.forward, few, layers),
          carried(a.backward, b.backward, few, layers),
          carried(a.weights, b.weights, few, layers),
          carried(a.first_forward, b.first_forward, few, layers),
          std::max(a.gather_pool, b.gather_pool)};
}

}  // namespace sim
