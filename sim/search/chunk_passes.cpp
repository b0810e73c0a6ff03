// SPDX-License-Identifier: Apache-2.0
#include "sim/search/chunk_passes.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>
#include <variant>

#include "core/plan/passes.h"
#include "core/plan/upkeep.h"
#include "sim/memory/footprint.h"
#include "sim/search/pass_sections.h"
#include "sim/search/rehearsal.h"

namespace sim {
namespace {

using plan::Category;
using plan::Passes;
using Weights = Passes::Weights;

void add_bytes(Rise& to, Category category, std::int64_t bytes) {
  switch (category) {
    case Category::activations:
    case Category::logits:
    case Category::workspace: to.moving += bytes; break;
    case Category::communication: to.communication += bytes; break;
    default: to.other += bytes;
  }
}

PassMemory memory_of(const plan::Segment& segment, const ByteWeights& weights) {
  PassMemory out;
  for (const plan::MemoryChange& change : segment.memory) {
    if (change.apart) continue;  // counted all the time
    add_bytes(out.net, change.category, change.bytes);
    if (out.net.total() > out.highest.total()) out.highest = out.net;
    if (out.net.weight(weights) > out.heaviest.weight(weights)) out.heaviest = out.net;
  }
  return out;
}

PassCost cost_of(const Rehearsal& ran, std::size_t call) {
  PassCost out;
  out.time = ran.done[call] - ran.done[call - 1];
  out.gap = std::max(0.0, ran.begin[call] - ran.done[call - 1]);
  out.squares = ran.squares[call];
  out.device = out.time;
  out.issue = ran.issue[call];
  const double waits = std::max(0.0, out.time - ran.kernels[call]);
  const double flies = ran.tp[call] + ran.cp[call] + ran.ep[call];
  out.host = std::max(0.0, waits - flies);
  if (flies <= 0) return out;
  const double exposed = std::min(1.0, waits / flies);
  out.tp = ran.tp[call] * exposed;
  out.cp = ran.cp[call] * exposed;
  out.ep = ran.ep[call] * exposed;
  return out;
}

/// Whether a kernel of the pass may have been late for the host's sake.
bool may_wait_for_host(const PassCost& pass) {
  constexpr double kAhead = 0.5;  // a host that takes less of a pass is ahead of all of it
  return pass.host > 0 || pass.issue > kAhead * pass.time;
}

/// Passes in the middle of a step; where `only`, those of a step's only microbatch, which are its first and last.
struct Usual {
  explicit Usual(const plan::Context& c, bool only = false)
      : upkeep(c), split(c.strategy.traits().splits_backward), only(only) {}
  plan::Upkeep upkeep;
  bool split;  // weight gradients run apart
  bool only;
  Passes::ForwardKind forward() const {
    return {.gathers = upkeep.gathers(only), .first = only && upkeep.first_differs};
  }
  Passes::BackwardKind backward() const {
    const bool reduces = upkeep.reduces(only);
    return {.reduces = reduces, .sums = upkeep.each_sums || (only && reduces), .releases = only || !upkeep.keeps};
  }
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

  UsualPasses(const plan::Context& c, const ChunkOfStage& at, bool only = false)
      : usual(c, only), plan(empty_plan(c)), pool(plan), passes(c, pool, at.stage, at.chunks) {
    plan.segments.push_back(passes.forward(at.index, usual.forward()));
    Passes::Backward backward = passes.backward(at.index, usual.backward(), usual.weights());
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
  Passes passes;
};

}  // namespace

ChunkMemory memory_of(const plan::Context& c, const ChunkOfStage& at) {
  const bool only = c.scatters_gradients && c.microbatches == 1;
  UsualPasses once(c, at, only);
  const std::vector<plan::Segment>& passes = once.plan.segments;
  const ByteWeights weights = weights_of(c.job.framework);
  ChunkMemory out{
      memory_of(passes[UsualPasses::F], weights), memory_of(passes[UsualPasses::B], weights),
      memory_of(passes[UsualPasses::W], weights),
      std::max(gather_pool(once.plan, passes[UsualPasses::F]), gather_pool(once.plan, passes[UsualPasses::B]))};
  // Where weight gradients run apart a step may be fullest behind the last backward, which lets go.
  if (!once.usual.upkeep.keeps || once.usual.split || only) return out;
  const PassMemory first = memory_of(once.passes.forward(at.index, {.gathers = true}), weights);
  out.kept = first.net.total() - out.forward.net.total();
  return out;
}

ChunkCost cost_of(const plan::Context& c, const ChunkOfStage& at, PriceList& prices) {
  UsualPasses once(c, at);
  std::vector<plan::Segment>& segments = once.plan.segments;
  std::array<double, UsualPasses::kCount> operators{};
  for (std::size_t i = 0; i < operators.size(); ++i) operators[i] = static_cast<double>(segments[i].operators.size());
  std::vector<std::int32_t> calls = once.rounds(2);
  const bool casts = once.usual.upkeep.casts;
  if (casts) {  // only a step's first forward does
    calls.front() = static_cast<std::int32_t>(segments.size());
    segments.push_back(once.passes.forward(at.index, {.gathers = once.usual.upkeep.each_gathers, .first = true}));
  }
  const Rehearsal ran = rehearse(once.plan, at.stage, calls, c.job, prices);
  ChunkCost out;
  out.forward = cost_of(ran, once.count());
  out.backward = cost_of(ran, UsualPasses::B);
  if (once.usual.split) out.weights = cost_of(ran, UsualPasses::W);
  out.forward.operators = operators[UsualPasses::F];
  out.backward.operators = operators[UsualPasses::B];
  out.weights.operators = operators[UsualPasses::W];
  out.first_forward = casts ? ran.done[0] - ran.begin[0] : out.forward.time;
  if (may_wait_for_host(out.forward) || may_wait_for_host(out.backward) || may_wait_for_host(out.weights)) {
    const Rehearsal at_once = rehearse(std::move(once.plan), at.stage, calls, c.job, prices, {.at_once = true});
    out.forward.device = cost_of(at_once, once.count()).time;
    out.backward.device = cost_of(at_once, UsualPasses::B).time;
    if (once.usual.split) out.weights.device = cost_of(at_once, UsualPasses::W).time;
  }
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

/// Passes alone and then the same beside communication of one kind, which lasts to the end.
struct InCompany {
  Rehearsal ran;
  std::size_t alone, beside;  // calls: the first pass of each
};
InCompany rehearse_beside(const plan::Context& c, const ChunkOfStage& at, bool transfer, PriceList& prices) {
  constexpr double kLonger = 4;  // than the passes, which it slows
  UsualPasses once(c, at);
  std::vector<plan::Segment>& segments = once.plan.segments;
  double time = 0;
  for (const plan::Segment& segment : segments) {
    for (const plan::Operator& op : segment.operators) time += prices.of(once.plan.works[op.work]).si();
  }
  const auto stream = transfer ? plan::Stream::send_next : plan::Stream::dp;
  plan::SegmentBuilder pen(once.pool, "");
  pen.communicate(exchange_of(c, transfer, kLonger * time, prices), "beside", stream, -1, {plan::Stream::compute});
  plan::Segment beside = pen.finish();
  const auto& forward = segments[UsualPasses::F].operators;
  beside.operators.insert(beside.operators.end(), forward.begin(), forward.end());
  std::vector<std::int32_t> calls = once.rounds(3);  // in the first the host gets ahead
  const std::size_t passes = once.count();
  calls[2 * passes] = static_cast<std::int32_t>(segments.size());
  calls.push_back(UsualPasses::F);  // tells the end
  segments.push_back(std::move(beside));
  return {rehearse(std::move(once.plan), at.stage, calls, c.job, prices, {.courses = true}), passes, 2 * passes};
}

}  // namespace

ChunkSections rehearse_sections(const plan::Context& c, const ChunkOfStage& at, PriceList& prices) {
  ChunkSections out;
  const std::array passes{&out.forward, &out.backward, &out.weights};
  for (const bool transfer : {false, true}) {
    if (transfer ? c.pp == 1 : c.group(c.shard_axis).size == 1) continue;
    const InCompany both = rehearse_beside(c, at, transfer, prices);
    for (std::size_t i = 0; both.alone + i < both.beside; ++i) {
      const Course alone = both.ran.courses[both.alone + i], beside = both.ran.courses[both.beside + i];
      if (passes[i]->empty()) *passes[i] = sections_of(c, alone.stretches);
      measure(c, alone, beside, transfer, *passes[i]);
    }
  }
  return out;
}

double first_and_last(const plan::Context& c, int stage, const std::vector<plan::Chunk>& chunks, PriceList& prices) {
  plan::Plan plan = empty_plan(c);
  plan::Pool pool(plan);
  Passes passes(c, pool, stage, chunks);
  const Usual usual(c);
  const plan::Upkeep& upkeep = usual.upkeep;
  const Passes::ForwardKind first{.gathers = c.fully_sharded || upkeep.gathers_buckets,
                                  .first = upkeep.first_gathers || upkeep.casts};
  const bool reduces = c.scatters_gradients || (c.overlap_grad_reduce && c.replicated());
  for (int v = 0; v < c.vpp; ++v) {
    plan.segments.push_back(passes.forward(v, first));
  }
  for (int v = c.vpp - 1; v >= 0; --v) {
    Passes::Backward parts =
        passes.backward(v, {.reduces = reduces, .sums = reduces, .releases = true}, usual.weights());
    plan.segments.push_back(std::move(parts.input));
    if (usual.split) plan.segments.push_back(std::move(parts.weights));
  }
  std::vector<std::int32_t> calls;
  for (std::size_t i = 0; i < plan.segments.size(); ++i) calls.push_back(static_cast<std::int32_t>(i));
  return rehearse(std::move(plan), stage, calls, c.job, prices).end - c.job.framework.step.si();
}

}  // namespace sim
