// SPDX-License-Identifier: Apache-2.0
#include "sim/search/two_level.h"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>

#include "core/plan/data_parallel.h"
#include "core/plan/low_precision.h"
#include "core/plan/states.h"
#include "sim/memory/footprint.h"
#include "sim/search/pipeline_walk.h"

namespace sim {
namespace {

using plan::Category;
using plan::Pass;

ShapeKey shape_of(const plan::Context& c, bool blocking) {
  return {.schedule = c.strategy.schedule,
          .stages = c.pp,
          .chunks = c.vpp,
          .microbatches = static_cast<int>(c.microbatches),
          .blocking = blocking};
}

const PassCost& cost_of_pass(const ChunkCost& chunk, Pass pass) {
  if (pass == Pass::forward) return chunk.forward;
  return pass == Pass::weight_gradient ? chunk.weights : chunk.backward;
}

/// The collectives that a call on `pen` writes, one behind the other, as one exchange.
template <class Write>
double priced(PriceList& prices, Write write) {
  plan::Plan plan;
  plan::Pool pool(plan);
  plan::SegmentBuilder out(pool, "");
  write(out);
  double time = 0;
  for (const plan::Operator& op : out.finish().operators) time += prices.of(plan.works[op.work]).si();
  return time;
}

constexpr unsigned kNvlink = 1, kNic = 2;

unsigned links_of(const plan::GroupShape& group) {
  return group.size == 1 ? 0 : (group.per_domain > 1 ? kNvlink : 0) | (group.domains > 1 ? kNic : 0);
}

void add(Rise& to, const Rise& more, std::int64_t times) {
  to.moving += more.moving * times;
  to.communication += more.communication * times;
  to.other += more.other * times;
}

}  // namespace

bool has_two_levels(const spec::Job& job) {
  const spec::Strategy& s = job.strategy;
  const spec::Simulation& run = job.simulation;
  if (job.model.is_list() || job.training.serves() || job.cluster.mixed()) return false;
  if (job.training.data || job.training.checkpoint || s.offload.any()) return false;
  if (run.unfold || run.jitter > 0 || !run.slow_ranks.empty() || run.any()) return false;
  if (job.network.fidelity == "coupled" || s.spreads_vocab() || s.pairs_passes()) return false;
  return s.schedule != spec::Schedule::dualpipe && s.schedule != spec::Schedule::pipedream;
}

Draft::Draft(const spec::Job& job, Books& books, PriceList& prices)
    : job_(job), c_(job), books_(books), prices_(prices), chunks_(plan::chunks_of(c_)) {
  blocking_ = c_.pp > 1 && !c_.overlap_p2p && c_.vpp == 1;
  shape_ = books.shapes.of(shape_of(c_, blocking_));
  if (c_.pp > 1) transfer_ = prices.of(c_.stage_transfer).si();
  for (int stage = 0; stage < c_.pp; ++stage) {
    StageCost& cost = stages_.emplace_back();
    const auto alike = [&](int other) {
      for (int v = 0; v < c_.vpp; ++v) {
        const plan::Chunk &a = chunks_[stage][v], &b = chunks_[other][v];
        const bool same = a.layers == b.layers && a.first == b.first && a.last == b.last && stage != 0 &&
                          stage + 1 != c_.pp && uniform(c_, a) && uniform(c_, b) &&
                          (a.layers == 0 || c_.experts_in(a.first_layer) == c_.experts_in(b.first_layer));
        if (!same) return false;
      }
      return true;
    };
    if (stage > 0 && alike(stage - 1)) {
      cost = stages_[stage - 1];
      continue;
    }
    cost.kind = static_cast<int>(kind_shown_.size());
    kind_shown_.push_back(stage);
    for (int v = 0; v < c_.vpp; ++v) cost.chunks.push_back(cost_of(stage, v));
  }
  ends_.resize(kind_shown_.size());
}

int Draft::cost_of(int stage, int chunk) {
  costs_.push_back(books_.chunks.of(c_, stage, chunks_[stage], chunk, prices_));
  return static_cast<int>(costs_.size()) - 1;
}

const StageEnds& Draft::ends_of(int stage) {
  const int kind = stages_[stage].kind;
  if (!ends_[kind]) {
    const int shown = kind_shown_[kind];
    ends_[kind] = std::make_unique<StageEnds>(stage_ends(c_, chunks_[shown], shown, prices_));
  }
  return *ends_[kind];
}

double Draft::host_start() const { return job_.framework.step.si(); }

std::int64_t Draft::peak_of(int stage) {
  plan::Role role;
  plan::Held held;
  for (const plan::Chunk& chunk : chunks_[stage]) held += plan::chunk_parameters(c_, chunk);
  plan::hold_states(c_, held, chunks_[stage], role);
  const auto chunk_cost = [&](std::size_t v) -> const ChunkCost& { return costs_[stages_[stage].chunks[v]]; };
  Rise most;
  if (job_.framework.optimizer_workspace > 0) most.moving = ends_of(stage).workspace;
  for (const Fullness& moment : shape_->fullest[stage]) {
    Rise level = cost_of_pass(chunk_cost(moment.chunk), moment.pass).highest;
    for (std::size_t v = 0; v < moment.forwards.size(); ++v) {
      const ChunkCost& chunk = chunk_cost(v);
      add(level, chunk.forward.net, moment.forwards[v] + moment.gradients[v]);
      add(level, chunk.backward.net, moment.gradients[v]);
    }
    if (level.total() > most.total()) most = level;
  }
  MemoryPeak peak;
  peak.bytes = role.resident;
  peak.bytes[static_cast<int>(Category::activations)] += most.moving;
  peak.bytes[static_cast<int>(Category::communication)] += most.communication;
  peak.bytes[static_cast<int>(Category::gradients)] += most.other;
  plan::Plan cut;
  cut.tp = c_.tp;
  cut.cp = c_.cp;
  cut.dp = c_.dp;
  cut.pp = c_.pp;
  cut.axes = c_.axes;
  std::int64_t pool = 0;
  for (const int chunk : stages_[stage].chunks) pool = std::max(pool, costs_[chunk].gather_pool);
  return footprint(peak, cut, job_, pool).total();
}

std::int64_t Draft::peak_bytes() {
  std::int64_t most = 0;
  for (int stage = 0; stage < c_.pp; ++stage) most = std::max(most, peak_of(stage));
  return most;
}

double Draft::least_time() {
  const auto sum = [&](int stage, int v) {
    const ChunkCost& chunk = costs_[stages_[stage].chunks[v]];
    return chunk.forward.time + chunk.backward.time + chunk.weights.time;
  };
  double most = 0, fill = 0, drain = 0;  // until the first input comes to a stage; after its last gradient has left
  for (int stage = 0; stage < c_.pp; ++stage) {
    double busy = 0;
    for (int v = 0; v < c_.vpp; ++v) busy += static_cast<double>(c_.microbatches) * sum(stage, v);
    const ChunkCost& down = costs_[stages_[stage].chunks[0]];
    busy += std::min(0.0, down.first_forward - down.forward.time);
    const ShapePass& last = shape_->passes[shape_->first_of[stage + 1] - 1];
    const bool drains = last.pass == Pass::backward && last.chunk == 0;
    most = std::max(most, fill + busy + (drains ? drain : 0) + ends_of(stage).least);
    fill += std::min(down.forward.time, down.first_forward) + transfer_;
    drain += down.backward.time + transfer_;
  }
  return host_start() + most;
}

/// Whether what the data-parallel axis exchanges is rehearsed with the passes that it flies beside: units of parameters,
/// and a stage of its own, where nothing else hides it.
bool Draft::rehearses_exchanges() const {
  return c_.scatters_gradients || (c_.pp == 1 && c_.replicated() && (c_.overlap_grad_reduce || c_.overlap_param_gather));
}

/// While kernels run, what is beside them and they slow one another; while they wait for communication over the same
/// links, that and what is beside it get half of them each.
PassTime Draft::pass_time(const PassCost& cost) const {
  const spec::Calibration& calibration = job_.cluster.node.calibration;
  const double kernels = calibration.compute_slowdown, communication = calibration.comm_slowdown;
  PassTime out{.time = cost.time};
  if (cost.time <= 0) return out;
  const auto shared = [&](unsigned links) {
    double time = 0;
    if ((links_of(c_.group(plan::Axis::tp)) & links) != 0) time += cost.tp;
    if ((links_of(c_.group(plan::Axis::cp)) & links) != 0) time += cost.cp;
    if ((links_of(c_.group(plan::Axis::ep)) & links) != 0) time += cost.ep;
    return std::min(1.0, time / cost.time);
  };
  const double of_exchange = shared(links_of(c_.group(c_.shard_axis)));
  const double of_transfer = shared(c_.stage_transfer.crosses_domain ? kNic : kNvlink);
  out.beside_exchange = (1 - of_exchange) * kernels + 2 * of_exchange;
  out.exchange = out.beside_exchange / ((1 - of_exchange) * kernels / communication + of_exchange);
  out.beside_transfer = (1 - of_transfer) * kernels + 2 * of_transfer;
  return out;
}

ChunkTimes Draft::times_of(int stage, int index) {
  const ChunkCost& cost = costs_[stages_[stage].chunks[index]];
  const plan::Chunk& chunk = chunks_[stage][index];
  ChunkTimes out{.forward = pass_time(cost.forward),
                 .backward = pass_time(cost.backward),
                 .weights = pass_time(cost.weights),
                 .first_forward = cost.first_forward};
  if (!c_.replicated() || rehearses_exchanges()) return out;
  const bool bucketed = plan::has_buckets(c_, stage, index);
  const int layers = chunk.layers;
  if (c_.strategy.zero >= 1 && c_.overlap_param_gather) {
    const int group = layers == 0 ? 0 : plan::layers_a_gather(c_, chunk, bucketed);
    for (int first = 0; first == 0 || first < layers; first += group) {
      plan::Held held;
      const int count = std::min(group, layers - first);
      for (int i = 0; i < count; ++i) held += plan::layer_parameters(c_, chunk.first_layer + first + i);
      if (first == 0 && chunk.first) held.dense += plan::embedding_parameters(c_);
      if (first + count == layers && chunk.last) held += plan::last_parameters(c_);
      const double time = priced(prices_, [&](plan::SegmentBuilder& pen) { plan::gather_parameters(c_, pen, held, false); });
      out.gathers.push_back({layers == 0 ? 1 : static_cast<double>(first + count) / layers, time});
      if (group == 0) break;
    }
  }
  if (!c_.overlap_grad_reduce) return out;
  plan::Plan plan;
  plan::Pool pool(plan);
  plan::SegmentBuilder pen(pool, "");
  plan::GradientBuckets buckets(c_, pen, bucketed);
  std::size_t sent = 0;
  const auto note = [&](double share) {
    for (; sent < pen.written().size(); ++sent) {
      out.reductions.push_back({share, prices_.of(plan.works[pen.written()[sent].work]).si()});
    }
  };
  if (chunk.last) buckets.add(plan::last_parameters(c_));
  note(0);
  for (int i = layers - 1; i >= 0; --i) {
    buckets.add(plan::layer_parameters(c_, chunk.first_layer + i));
    note(static_cast<double>(layers - i) / layers);
  }
  if (chunk.first) buckets.add({plan::embedding_parameters(c_), 0});
  buckets.flush();
  note(1);
  return out;
}

double Draft::step_time() {
  std::vector<std::vector<ChunkTimes>> times(stages_.size());  // by kind and chunk
  const double beside = blocking_ ? 1 : job_.cluster.node.calibration.comm_slowdown;
  WalkInput in{.shape = *shape_, .times = {}, .chunks = c_.vpp, .begin = host_start(), .zeroing = {},
               .transfer = transfer_ * beside, .blocking = blocking_, .host_waits = !c_.overlap_p2p && job_.framework.synchronizes_p2p};
  std::vector<const StageEnds*> ends;
  for (int stage = 0; stage < c_.pp; ++stage) {
    const int kind = stages_[stage].kind;
    for (int v = static_cast<int>(times[kind].size()); v < c_.vpp; ++v) {
      times[kind].reserve(static_cast<std::size_t>(c_.vpp));
      times[kind].push_back(times_of(stage, v));
    }
    for (int v = 0; v < c_.vpp; ++v) in.times.push_back(&times[kind][v]);
    ends.push_back(&ends_of(stage));
    in.zeroing.push_back(ends.back()->begin);
  }
  std::vector<StageEnd> passes = walk(in);
  if (rehearses_exchanges()) {
    std::vector<double> beyond;  // by kind
    for (const int shown : kind_shown_) beyond.push_back(books_.chunks.exchanges(c_, shown, chunks_[shown], prices_));
    for (std::size_t s = 0; s < passes.size(); ++s) {
      passes[s].passes = passes[s].reduced = passes[s].passes + std::max(0.0, beyond[stages_[s].kind]);
    }
  }
  if (!c_.rolling) return end_of_step(ends, passes);
  // Each stage begins its next step as soon as it has ended this one: its bubble at the begin is not its own.
  const std::vector<double> apart = ends_apart(ends, passes);
  double earliest = passes.front().first, longest = 0;
  for (const StageEnd& stage : passes) earliest = std::min(earliest, stage.first);
  for (std::size_t s = 0; s < apart.size(); ++s) longest = std::max(longest, apart[s] - (passes[s].first - earliest));
  return longest;
}

}  // namespace sim
