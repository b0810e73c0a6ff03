// SPDX-License-Identifier: Apache-2.0
#include "sim/search/chunk_passes.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>
#include <variant>

#include "core/plan/low_precision.h"
#include "core/plan/passes.h"
#include "core/plan/units.h"
#include "sim/memory/footprint.h"
#include "sim/search/pass_sections.h"
#include "sim/search/rehearsal.h"

namespace sim {
namespace {

/// Layers of a pass so short that it matters when in it something else begins.
constexpr int kShort = 2;

using plan::Category;
using Weights = plan::Passes::Weights;

void add(Rise& to, Category category, std::int64_t bytes) {
  switch (category) {
    case Category::activations:
    case Category::logits:
    case Category::workspace: to.moving += bytes; break;
    case Category::communication: to.communication += bytes; break;
    default: to.other += bytes;
  }
}

PassMemory memory_of(const plan::Segment& segment) {
  PassMemory out;
  for (const plan::MemoryChange& change : segment.memory) {
    add(out.net, change.category, change.bytes);
    if (out.net.total() > out.highest.total()) out.highest = out.net;
  }
  return out;
}

PassCost cost_of(const Rehearsal& ran, std::size_t call) {
  PassCost out;
  out.time = ran.done[call] - ran.done[call - 1];
  out.gap = std::max(0.0, ran.begin[call] - ran.done[call - 1]);
  const double waits = std::max(0.0, out.time - ran.kernels[call]);
  const double flies = ran.tp[call] + ran.cp[call] + ran.ep[call];
  if (flies <= 0) return out;
  const double exposed = std::min(1.0, waits / flies);
  out.tp = ran.tp[call] * exposed;
  out.cp = ran.cp[call] * exposed;
  out.ep = ran.ep[call] * exposed;
  return out;
}

/// The flags of build() in the middle of a step.
struct Usual {
  explicit Usual(const plan::Context& c)
      : keeps(c.fully_sharded && plan::keeps_over_step(c)),
        syncs(c.scatters_gradients && c.strategy.fsdp.sync_each_microbatch),
        gathers(c.fully_sharded && !keeps),
        casts(spec::bytes_of(c.dtype) < 2 && plan::keeps_casts(c)),
        split(c.strategy.zero_bubble()) {}
  bool keeps, syncs, gathers, casts, split;
  Weights weights() const { return split ? Weights::apart : Weights::at_once; }
};

plan::Plan empty_plan(const plan::Context& c) {
  plan::Plan plan;
  plan.axes = c.axes;
  plan.pp = c.pp;
  return plan;
}

/// Passes of one chunk in the middle of a step.
struct UsualPasses {
  enum Segment : std::int32_t { F, B, W, kCount };  // W is empty unless weight gradients run apart

  UsualPasses(const plan::Context& c, const ChunkOfStage& at)
      : usual(c), plan(empty_plan(c)), pool(plan), passes(c, pool, at.stage, at.chunks) {
    plan.segments.push_back(passes.forward(at.index, usual.gathers, false));
    plan::Passes::Backward backward = passes.backward(at.index, usual.syncs, !usual.keeps, usual.weights(), false);
    plan.segments.push_back(std::move(backward.input));
    plan.segments.push_back(std::move(backward.weights));
  }
  UsualPasses(const UsualPasses&) = delete;  // the pool looks at the plan
  /// Passes of a microbatch.
  std::size_t count() const { return usual.split ? 3 : 2; }
  /// So many microbatches, one behind the other.
  std::vector<std::int32_t> rounds(std::size_t microbatches) const {
    std::vector<std::int32_t> calls;
    for (std::size_t i = 0; i < microbatches * count(); ++i) calls.push_back(static_cast<std::int32_t>(i % count()));
    return calls;
  }

  const Usual usual;
  plan::Plan plan;
  plan::Pool pool;
  plan::Passes passes;
};

}  // namespace

ChunkMemory memory_of(const plan::Context& c, const ChunkOfStage& at) {
  const UsualPasses once(c, at);
  const std::vector<plan::Segment>& passes = once.plan.segments;
  return {memory_of(passes[UsualPasses::F]), memory_of(passes[UsualPasses::B]), memory_of(passes[UsualPasses::W]),
          std::max(gather_pool(once.plan, passes[UsualPasses::F]), gather_pool(once.plan, passes[UsualPasses::B]))};
}

ChunkCost cost_of(const plan::Context& c, const ChunkOfStage& at, PriceList& prices) {
  UsualPasses once(c, at);
  std::vector<plan::Segment>& segments = once.plan.segments;
  std::array<double, UsualPasses::kCount> operators{};
  for (std::size_t i = 0; i < operators.size(); ++i) operators[i] = static_cast<double>(segments[i].operators.size());
  std::vector<std::int32_t> calls = once.rounds(2);
  if (once.usual.casts) {  // only a step's first forward does
    calls.front() = static_cast<std::int32_t>(segments.size());
    segments.push_back(once.passes.forward(at.index, once.usual.gathers, true));
  }
  const Rehearsal ran = rehearse(std::move(once.plan), at.stage, calls, c.job, prices);
  ChunkCost out;
  out.forward = cost_of(ran, once.count());
  out.backward = cost_of(ran, UsualPasses::B);
  if (once.usual.split) out.weights = cost_of(ran, UsualPasses::W);
  out.forward.operators = operators[UsualPasses::F];
  out.backward.operators = operators[UsualPasses::B];
  out.weights.operators = operators[UsualPasses::W];
  out.first_forward = once.usual.casts ? ran.done[0] - ran.begin[0] : out.forward.time;
  return out;
}

namespace {

/// A reduction of the data-parallel axis, a transfer to the next stage, that take about `time`.
plan::Work exchange_of(const plan::Context& c, bool transfer, double time, PriceList& prices) {
  constexpr std::int64_t kMuch = std::int64_t{1} << 30;
  plan::Transfer hop = c.stage_transfer;
  plan::Collective sum{plan::CollectiveKind::all_reduce, kMuch, c.group(c.shard_axis)};
  hop.bytes = kMuch;
  const double known = (transfer ? prices.of(hop) : prices.of(sum)).si();
  if (known > 0) {
    hop.bytes = sum.bytes =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(kMuch) * time / known));
  }
  return transfer ? plan::Work(hop) : plan::Work(sum);
}

/// `flew`: how long the communication took, `usual`: alone.
Beside beside_of(double flew, double usual, double lost) {
  if (flew <= 0 || usual <= 0) return {};
  const double kept = std::max(flew - std::max(0.0, lost), flew / 4);  // of the pass's own progress meanwhile
  return {flew / kept, std::max(1.0, flew / usual)};
}

/// Each of a chunk's passes beside one kind of communication.
std::vector<Beside> rehearse_beside(const plan::Context& c, const ChunkOfStage& at, const std::vector<double>& alone,
                                    bool transfer, PriceList& prices) {
  UsualPasses once(c, at);
  std::vector<plan::Segment>& segments = once.plan.segments;
  segments.resize(alone.size());
  const auto stream = transfer ? plan::Stream::send_next : plan::Stream::dp;
  std::vector<double> exchanges;
  for (std::size_t i = 0; i < alone.size(); ++i) {
    const plan::Work work = exchange_of(c, transfer, alone[i] / 2, prices);
    exchanges.push_back(prices.of(work).si());
    plan::SegmentBuilder pen(once.pool, "");
    pen.communicate(work, "beside", stream, -1, {plan::Stream::compute});
    plan::Segment segment = pen.finish();
    const auto& operators = segments[i].operators;
    segment.operators.insert(segment.operators.end(), operators.begin(), operators.end());
    segments.push_back(std::move(segment));
  }
  std::vector<std::int32_t> calls(segments.size());  // as usual, so that the host runs ahead, and then beside
  std::iota(calls.begin(), calls.end(), 0);
  calls.push_back(UsualPasses::F);  // tells the end
  const Rehearsal ran = rehearse(std::move(once.plan), at.stage, calls, c.job, prices);
  std::vector<Beside> out;
  for (std::size_t i = 0; i < alone.size(); ++i) {
    const std::size_t call = alone.size() + i;
    const double flew = transfer ? ran.sends[call] : ran.dp[call];
    out.push_back(beside_of(flew, exchanges[i], ran.done[call] - ran.done[call - 1] - alone[i]));
  }
  return out;
}

/// Sections of each of a chunk's passes.
std::vector<std::vector<PassSection>> rehearse_sections(const plan::Context& c, const ChunkOfStage& at,
                                                        PriceList& prices) {
  UsualPasses once(c, at);
  std::vector<std::int32_t> calls = once.rounds(2);
  calls.push_back(UsualPasses::F);  // tells the end
  const Rehearsal ran = rehearse(std::move(once.plan), at.stage, calls, c.job, prices, true);
  std::vector<std::vector<PassSection>> out;
  for (std::size_t i = 0; i < once.count(); ++i) out.push_back(sections_of(c, ran.stretches[once.count() + i]));
  return out;
}

}  // namespace

ChunkBeside beside_of(const plan::Context& c, const ChunkOfStage& at, const ChunkCost& alone, PriceList& prices) {
  std::vector<double> times{alone.forward.time, alone.backward.time};
  if (c.strategy.zero_bubble()) times.push_back(alone.weights.time);
  ChunkBeside out;
  const std::array passes{&out.forward, &out.backward, &out.weights};
  for (const bool transfer : {false, true}) {
    if (transfer ? c.pp == 1 : c.group(c.shard_axis).size == 1) continue;
    const std::vector<Beside> each = rehearse_beside(c, at, times, transfer, prices);
    for (std::size_t i = 0; i < each.size(); ++i) (transfer ? passes[i]->transfer : passes[i]->exchange) = each[i];
  }
  if (c.pp > 1 && at.chunk().layers <= kShort && !c.scatters_gradients) {
    std::vector<std::vector<PassSection>> each = rehearse_sections(c, at, prices);
    for (std::size_t i = 0; i < each.size(); ++i) passes[i]->sections = std::move(each[i]);
  }
  return out;
}

double first_and_last(const plan::Context& c, int stage, const std::vector<plan::Chunk>& chunks, PriceList& prices) {
  plan::Plan plan = empty_plan(c);
  plan::Pool pool(plan);
  plan::Passes passes(c, pool, stage, chunks);
  const Usual usual(c);
  const bool gathers = c.strategy.zero >= 1 && !c.fully_sharded && c.overlap_param_gather && c.replicated();
  const bool reduces = c.scatters_gradients || (c.overlap_grad_reduce && c.replicated());
  for (int v = 0; v < c.vpp; ++v) {
    plan.segments.push_back(passes.forward(v, c.fully_sharded || gathers, gathers || usual.keeps || usual.casts));
  }
  for (int v = c.vpp - 1; v >= 0; --v) {
    plan::Passes::Backward parts = passes.backward(v, reduces, true, usual.weights(), false);
    plan.segments.push_back(std::move(parts.input));
    if (usual.split) plan.segments.push_back(std::move(parts.weights));
  }
  std::vector<std::int32_t> calls;
  for (std::size_t i = 0; i < plan.segments.size(); ++i) calls.push_back(static_cast<std::int32_t>(i));
  return rehearse(std::move(plan), stage, calls, c.job, prices).end - c.job.framework.step.si();
}

}  // namespace sim
