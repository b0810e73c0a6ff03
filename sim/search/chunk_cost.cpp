// SPDX-License-Identifier: Apache-2.0
#include "sim/search/chunk_cost.h"

#include <algorithm>
#include <utility>

#include "core/plan/block.h"
#include "core/plan/data_parallel.h"
#include "core/plan/elementwise.h"
#include "core/plan/layer_copies.h"
#include "core/plan/mla.h"
#include "core/plan/states.h"
#include "core/plan/unit_cut.h"
#include "sim/search/chunk_passes.h"

namespace sim {
namespace {

constexpr int kFewerAtEnds = 4, kMoreAtEnds = 8;  // where buckets fill over several layers

/// Layers written out, from which more of them are carried on: with units of parameters gathered ahead, more than are
/// on their way at once.
struct Few {
  int fewer, more;
};
Few few_layers(const plan::Context& c) {
  if (!c.scatters_gradients) return {3, 4};
  const int unit = std::max(1, c.strategy.fsdp.unit), ahead = (c.strategy.fsdp.prefetch + 2) * unit;
  return {ahead + unit, ahead + 2 * unit};
}

/// What `n` layers come to when each adds what the last of `more` added to `fewer`.
template <class T>
T carry(T at_fewer, T at_more, const Few& few, int n) {
  return at_fewer + (at_more - at_fewer) * (n - few.fewer) / (few.more - few.fewer);
}
Rise carry(const Rise& a, const Rise& b, const Few& few, int n) {
  return {carry(a.moving, b.moving, few, n), carry(a.communication, b.communication, few, n),
          carry(a.other, b.other, few, n)};
}
PassMemory carry(const PassMemory& a, const PassMemory& b, const Few& few, int n) {
  return {carry(a.highest, b.highest, few, n), carry(a.heaviest, b.heaviest, few, n), carry(a.net, b.net, few, n)};
}
ChunkMemory carry(const ChunkMemory& a, const ChunkMemory& b, const Few& few, int n) {
  return {carry(a.forward, b.forward, few, n), carry(a.backward, b.backward, few, n),
          carry(a.weights, b.weights, few, n), std::max(a.gather_pool, b.gather_pool), carry(a.kept, b.kept, few, n)};
}
PassCost carry(const PassCost& a, const PassCost& b, const Few& few, int n) {
  return {carry(a.time, b.time, few, n),
          b.gap,
          carry(a.tp, b.tp, few, n),
          carry(a.cp, b.cp, few, n),
          carry(a.ep, b.ep, few, n),
          carry(a.host, b.host, few, n),
          carry(a.device, b.device, few, n),
          carry(a.issue, b.issue, few, n),
          carry(a.operators, b.operators, few, n),
          carry(a.squares, b.squares, few, n)};
}
ChunkCost carry(const ChunkCost& a, const ChunkCost& b, const Few& few, int n) {
  return {carry(a.forward, b.forward, few, n), carry(a.backward, b.backward, few, n),
          carry(a.weights, b.weights, few, n), carry(a.first_forward, b.first_forward, few, n)};
}

void append(std::vector<std::int64_t>& key, const plan::GroupShape& g) {
  const plan::Layout& l = g.layout;
  key.insert(key.end(), {g.size, g.per_domain, g.domains, g.sharing, l.stride, l.starts, l.block, l.offset});
}

/// Fused kernels keep the same, but for those that want values padded to the width of keys (core/plan/mla.h).
std::int64_t memory_class(const plan::Context& c) {
  if (!c.fused_attention()) return 2 + static_cast<int>(c.attention);
  return c.model.mla && pads_values(c) ? 1 : 0;
}

/// All that the memory of a pass in the middle of a step depends on besides its chunk.
std::vector<std::int64_t> memory_key(const plan::Context& c) {
  const spec::Strategy& s = c.strategy;
  std::vector<std::int64_t> key{s.tp,
                                s.sp,
                                s.cp,
                                static_cast<int>(s.cp_kind),
                                c.batch,
                                spec::value_of(s.recompute),
                                memory_class(c),
                                static_cast<int>(c.tp_overlap),
                                s.ep,
                                s.etp,
                                s.traits().splits_backward,
                                static_cast<int>(s.moe_dispatcher),
                                c.scatters_gradients,
                                s.zero >= 2,  // code of the user's, whether or not anything is sharded
                                c.vocab,
                                c.separate_gradients,
                                plan::makes_gradients_anew(c)};
  for (const plan::Axis axis : {plan::Axis::tp, plan::Axis::cp, plan::Axis::ep, plan::Axis::etp})
    append(key, c.group(axis));
  if (!c.scatters_gradients) return key;
  key.insert(key.end(), {s.zero, s.shard, c.dp, c.pp > 1, c.overlap_grad_reduce, c.overlap_param_gather, s.fsdp.reshard,
                         s.fsdp.sync_each_microbatch, c.microbatches > 1, plan::keeps_over_step(c)});
  for (const plan::Axis axis : {c.shard_axis, c.expert_shard_axis, plan::Axis::replicate}) append(key, c.group(axis));
  return key;
}

/// And its time.
std::vector<std::int64_t> cost_key(const plan::Context& c, std::vector<std::int64_t> key) {
  key.insert(key.end(), {static_cast<int>(c.attention), c.pp > 1 && !c.overlap_p2p,
                         static_cast<int>(c.strategy.cuda_graphs.value_or(spec::CudaGraphs::none)),
                         c.microbatches > 1});  // whether gradients are added up
  const double share = plan::added_share(c);
  key.push_back(share > 0 && share < 1 ? c.microbatches : 0);  // and in how many of them
  return key;
}

std::vector<std::int64_t> chunk_key(const plan::Context& c, const ChunkOfStage& at) {
  const plan::Chunk& chunk = at.chunk();
  const int before = c.placement.before(at.stage, at.index), behind = c.placement.behind(at.stage, at.index);
  std::vector<std::int64_t> key{chunk.layers, chunk.first, chunk.last, before >= 0 && before != at.stage,
                                behind >= 0 && behind != at.stage};
  if (uniform(c, chunk)) {
    const spec::LayerParts parts = chunk.layers > 0 ? c.model.parts_in(chunk.first_layer) : spec::LayerParts{};
    key.insert(key.end(), {static_cast<int>(parts.mixer), static_cast<int>(parts.feed_forward), parts.indexes});
  } else {
    key.push_back(-1);
    for (int i = 0; i < chunk.layers; ++i) {
      const auto recompute = plan::recompute_of(c, chunk.index_in_stage + i);
      key.push_back(plan::kind_of(c, chunk.first_layer + i, recompute, false).code());
    }
  }
  if (c.scatters_gradients) key.push_back(plan::has_buckets(c, at.stage, at.index));
  return key;
}

/// Of a chunk, where it is long and all its layers are alike carried on from few of them.
template <class T, class Make>
T carried(Kept<T>& kept, const plan::Context& c, const ChunkOfStage& at, Make make) {
  const auto known = [&](const ChunkOfStage& there) {
    return kept.of(chunk_key(c, there), [&] { return make(there); });
  };
  const Few few = few_layers(c);
  const int layers = at.chunk().layers;
  if (layers <= few.more || !uniform(c, at.chunk())) return known(at);
  std::vector<plan::Chunk> shorter = at.chunks;
  plan::Chunk& cut = shorter[static_cast<std::size_t>(at.index)];
  const ChunkOfStage there{at.stage, shorter, at.index};
  cut.layers = few.fewer;
  const T fewer = known(there);
  cut.layers = few.more;
  return carry(fewer, known(there), few, layers);
}

}  // namespace

bool uniform(const plan::Context& c, const plan::Chunk& chunk) {
  if (c.scatters_gradients && c.strategy.fsdp.unit == 0) return false;  // a unit is all of the chunk
  const spec::Recompute& recompute = c.strategy.recompute;
  const bool part = recompute.kind == spec::Recompute::Kind::full && recompute.layers > 0;
  const spec::Model& m = c.model;
  const bool limited = m.window > 0 || m.attention_chunk > 0;
  const bool mixed = m.nope_every > 1 || (limited && (m.window_every > 1 || m.full_every > 1));
  const bool wide = c.job.training.wide_layers.first > 0 || c.job.training.wide_layers.last > 0;
  if (part || mixed || wide) return false;
  if (!m.moe && !m.recurrent && !m.indexer && m.pattern.empty()) return true;
  for (int i = 1; i < chunk.layers; ++i) {
    if (m.parts_in(chunk.first_layer + i) != m.parts_in(chunk.first_layer)) return false;
  }
  return true;
}

plan::Context unsharded(const plan::Context& c) {
  plan::Context out = c;
  out.scatters_gradients = out.fully_sharded = false;
  return out;
}

ChunkMemory ChunkBook::memory(const plan::Context& c, const ChunkOfStage& at) {
  return carried(memory_, c, at, [&](const ChunkOfStage& there) { return memory_of(c, there); });
}

ChunkCost ChunkBook::cost(const plan::Context& c, const ChunkOfStage& at, PriceList& prices) {
  return carried(cost_, c, at, [&](const ChunkOfStage& there) { return cost_of(c, there, prices); });
}

ChunkSections ChunkBook::sections(const plan::Context& c, const ChunkOfStage& at, PriceList& prices) {
  std::vector<std::int64_t> key = chunk_key(c, at);
  append(key, c.group(c.shard_axis));
  key.insert(key.end(), {c.stage_transfer.crosses_domain, c.stage_transfer.sharing});
  return sections_.of(std::move(key), [&] { return rehearse_sections(c, at, prices); });
}

double ChunkBook::exchanges(const plan::Context& c, int stage, const std::vector<plan::Chunk>& chunks,
                            PriceList& prices) {
  const auto beyond = [&](const std::vector<plan::Chunk>& some) {
    double usual = 0;
    for (int v = 0; v < c.vpp; ++v) {
      const ChunkCost one = cost(c, {stage, some, v}, prices);
      usual += one.forward.time + one.backward.time + one.weights.time;
    }
    return first_and_last(c, stage, some, prices) - usual;
  };
  const int layers = chunks.front().layers;
  const bool alike = std::all_of(chunks.begin(), chunks.end(),
                                 [&](const plan::Chunk& chunk) { return uniform(c, chunk) && chunk.layers == layers; });
  if (!alike || layers <= kMoreAtEnds) return beyond(chunks);
  std::vector<plan::Chunk> shorter = chunks;
  const Few few{kFewerAtEnds, kMoreAtEnds};
  for (plan::Chunk& chunk : shorter) chunk.layers = few.fewer;
  const double at_fewer = beyond(shorter);
  for (plan::Chunk& chunk : shorter) chunk.layers = few.more;
  return carry(at_fewer, beyond(shorter), few, layers);
}

ChunkBook& ChunkBooks::of(const plan::Context& c) {
  const Key key = memory_key(c);
  const std::lock_guard lock(guard_);
  std::unique_ptr<ChunkBook>& book = books_[cost_key(c, key)];
  if (book) return *book;
  std::unique_ptr<Kept<ChunkMemory>>& memory = memories_[key];
  if (!memory) memory = std::make_unique<Kept<ChunkMemory>>();
  book = std::make_unique<ChunkBook>(*memory);
  return *book;
}

}  // namespace sim
