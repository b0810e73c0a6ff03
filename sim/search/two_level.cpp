// SPDX-License-Identifier: Apache-2.0
#include "sim/search/two_level.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/plan/data_parallel.h"
#include "core/plan/states.h"
#include "sim/memory/footprint.h"
#include "sim/search/company.h"
#include "sim/search/exchange_waits.h"
#include "sim/search/pipeline_walk.h"

namespace sim {
namespace {

using plan::Category;
using plan::Pass;

ShapeKey shape_of(const plan::Context& c) {
  return {.schedule = c.strategy.schedule,
          .stages = c.pp,
          .chunks = c.vpp,
          .microbatches = static_cast<int>(c.microbatches)};
}

/// The gradients' zeroing, a kernel.
std::vector<PassSection> kernels_in_company(const plan::Context& c) {
  const spec::Calibration& calibration = c.job.cluster.node.calibration;
  const Beside beside{std::max(1.0, calibration.compute_slowdown), std::max(1.0, calibration.comm_slowdown)};
  const Beside beside_transfer = takes_sms(c.stage_transfer, c.job.cluster.node) ? beside : Beside{};
  return {{.end = Company::kNever, .exchange = beside, .transfer = beside_transfer}};
}

/// `restore`: time of what puts an input together from parts. It ends before the kernels ahead of it do, or is a gap.
PassTime pass_time(const PassCost& cost, std::vector<PassSection> sections, double restore) {
  return {cost.time, std::max(0.0, restore - cost.gap), cost.operators, cost.squares, std::move(sections)};
}

}  // namespace

bool has_two_levels(const spec::Job& job) {
  const spec::Strategy& s = job.strategy;
  const spec::Simulation& run = job.simulation;
  if (job.model.is_list() || job.training.serves() || job.cluster.mixed()) return false;
  if (job.training.data || job.training.checkpoint || s.offload.any()) return false;
  if (run.unfold || !run.slow_ranks.empty() || run.any()) return false;
  if (job.network.fidelity == spec::Fidelity::coupled || s.spreads_vocab() || s.pairs_passes()) return false;
  return s.traits().flushes && !s.traits().always_pairs;
}

Draft::Draft(const spec::Job& job, Books& books, PriceList& prices)
    : job_(job),
      c_(job),
      least_c_(unsharded(c_)),
      prices_(prices),
      book_(books.chunks.of(c_)),
      least_book_(c_.scatters_gradients ? books.chunks.of(least_c_) : book_),
      blocking_(c_.pp > 1 && !c_.overlap_p2p && c_.vpp == 1),
      host_waits_(!c_.overlap_p2p && job.framework.synchronizes_p2p),
      shape_(books.shapes.of(shape_of(c_))),
      chunks_(plan::chunks_of(c_)) {
  if (c_.pp > 1) transfer_ = least_transfer_ = prices.of(c_.stage_transfer).si();
  for (int stage = 1; stage < c_.pp; ++stage) {
    least_transfer_ = std::min(least_transfer_, prices.of(c_.transfer_between(stage - 1, stage)).si());
  }
  if (c_.pp > 1 && c_.scatter_gather && !host_waits_) {  // otherwise a part of the pass, behind the host's wait
    const std::int64_t whole = c_.tokens * c_.hidden * c_.element;
    restore_ = prices.of(plan::Collective{plan::CollectiveKind::all_gather, whole, c_.tp_group}).si();
  }
  cut_.tp = c_.tp;
  cut_.cp = c_.cp;
  cut_.dp = c_.dp;
  cut_.pp = c_.pp;
  cut_.axes = c_.axes;
  sort_stages();
}

bool Draft::alike(int stage, int chunk, int other_stage, int other_chunk) const {
  const plan::Chunk &a = chunks_[stage][chunk], &b = chunks_[other_stage][other_chunk];
  const auto turns = [&](int s, int v) {
    return std::pair(c_.placement.before(s, v) == s, c_.placement.behind(s, v) == s);
  };
  if (a.layers != b.layers || a.first != b.first || a.last != b.last) return false;
  if (turns(stage, chunk) != turns(other_stage, other_chunk) || !uniform(c_, a) || !uniform(c_, b)) return false;
  if (plan::has_buckets(c_, stage, chunk) != plan::has_buckets(c_, other_stage, other_chunk)) return false;
  return a.layers == 0 || c_.model.parts_in(a.first_layer) == c_.model.parts_in(b.first_layer);
}

bool Draft::same_stage(int stage, int other) const {
  if (stage == 0 || stage + 1 == c_.pp || other == 0) return false;  // these end a step with tied embeddings
  for (int v = 0; v < c_.vpp; ++v) {
    if (!alike(stage, v, other, v)) return false;
  }
  return true;
}

int Draft::chunk_kind(int stage, int chunk) {
  for (std::size_t k = chunk_kinds_.size(); k-- > 0;) {
    if (alike(stage, chunk, chunk_kinds_[k].stage, chunk_kinds_[k].index)) return static_cast<int>(k);
  }
  chunk_kinds_.push_back({stage, chunk, {}, {}, {}, {}});
  return static_cast<int>(chunk_kinds_.size()) - 1;
}

void Draft::sort_stages() {
  for (int stage = 0; stage < c_.pp; ++stage) {
    if (stage > 0 && same_stage(stage, stage - 1)) {
      kind_of_.push_back(kind_of_.back());
      continue;
    }
    kind_of_.push_back(static_cast<int>(kinds_.size()));
    StageKind& kind = kinds_.emplace_back();
    kind.shown = stage;
    for (int v = 0; v < c_.vpp; ++v) kind.chunk_kinds.push_back(chunk_kind(stage, v));
    const plan::Held held = plan::stage_parameters(c_, chunks_[stage]);
    plan::Role role;
    plan::hold_states(c_, held, chunks_[stage], role);
    kind.resident = role.resident;
    kind.sums = plan::unscattered_sums(c_, held);
    kind.fresh = plan::fresh_apart(c_) ? 0 : plan::fresh_gradients(c_, held);  // what is apart counts all the time
    kind.shards = shards_beside_sums(c_, role.resident[static_cast<int>(Category::gradients)]);
  }
}

const ChunkCost& Draft::cost_of(int kind, bool least) {
  ChunkKind& chunk = chunk_kinds_[kind];
  std::optional<ChunkCost>& out = least ? chunk.least_cost : chunk.cost;
  if (!out) {
    const ChunkOfStage at{chunk.stage, chunks_[chunk.stage], chunk.index};
    out = least ? least_book_.cost(least_c_, at, prices_) : book_.cost(c_, at, prices_);
  }
  return *out;
}

const StageEnds& Draft::ends_of(StageKind& kind) {
  if (!kind.ends) kind.ends = std::make_unique<StageEnds>(stage_ends(c_, chunks_[kind.shown], kind.shown, prices_));
  return *kind.ends;
}

/// A host that is late for one pass may catch up in another: kernels count as if it took no time, its work by itself.
double Draft::least_time() {
  double most = 0, fill = 0, drain = 0;  // until the first input comes to a stage; after its last gradient has left
  for (int stage = 0; stage < c_.pp; ++stage) {
    StageKind& kind = kinds_[kind_of_[stage]];
    double busy = 0, issue = 0;
    for (const int chunk : kind.chunk_kinds) {
      const ChunkCost& cost = cost_of(chunk, true);
      busy += static_cast<double>(c_.microbatches) * (cost.forward.device + cost.backward.device + cost.weights.device);
      // A step's first gradients add to none.
      issue +=
          static_cast<double>(c_.microbatches - 1) * (cost.forward.issue + cost.backward.issue + cost.weights.issue);
    }
    const ChunkCost& down = cost_of(kind.chunk_kinds.front(), true);
    const double first = std::min(down.forward.device, down.first_forward);
    busy += first - down.forward.device;
    const ShapePass& last = shape_->passes[shape_->first_of[stage + 1] - 1];
    const bool drains = last.pass == Pass::backward && last.chunk == 0;
    // Where steps are not apart, a stage spends what it waits for its first input on the end of the step before.
    const double waits = c_.rolling ? 0 : fill + (drains ? drain : 0);
    most = std::max({most, waits + busy + ends_of(kind).least, issue});
    fill += first + least_transfer_;
    drain += down.backward.device + least_transfer_;
  }
  return job_.framework.step.si() + most;
}

/// Whether it matters which of two operators comes first: passes of a layer or two that meet the same ones again and
/// again, in few stages or of few microbatches, the few of a stage alone, and where nearly all of a step is the begin
/// and the end of its pipeline, in which exchanges of replicas meet transfers. Such steps have few operators.
bool Draft::is_small() const {
  constexpr int kFewLayers = 2, kFewStages = 8, kFewMicrobatches = 16, kFewestMicrobatches = 4;
  if (c_.pp == 1) return c_.replicated() && c_.microbatches <= kFewMicrobatches;
  if (c_.replicated() && c_.microbatches <= kFewestMicrobatches) return true;
  int layers = 0;  // of a pass
  for (const plan::Chunk& chunk : chunks_.front()) layers = std::max(layers, chunk.layers);
  return layers <= kFewLayers && (c_.pp <= kFewStages || c_.microbatches <= kFewMicrobatches);
}

/// Whether kernels of several stages wait for their hosts: one that is late for a pass catches up while its stage waits
/// for an input, which a pass rehearsed behind others does not show.
bool Draft::waits_for_hosts() {
  if (c_.pp == 1) return false;
  const double notable = c_.strategy.traits().splits_backward ? 0.02 : 0.1;  // passes apart leave more room to catch up
  double time = 0, host = 0;
  for (std::size_t kind = 0; kind < chunk_kinds_.size(); ++kind) {
    const ChunkCost& cost = cost_of(static_cast<int>(kind), false);
    time += cost.forward.time + cost.backward.time + cost.weights.time;
    host += cost.forward.host + cost.backward.host + cost.weights.host;
  }
  return host > notable * time;
}

bool Draft::agrees() {
  if (c_.strategy.zero == 2 || is_small() || waits_for_hosts() || least_transfer_ < transfer_) return false;
  // Copies into buckets lengthen a stage's last backward, which no other of its passes shows.
  if (c_.pp > 1 && c_.overlap_grad_reduce && plan::copies_buckets(c_)) return false;
  if (!c_.scatters_gradients) return true;
  const bool sums_replicas = c_.strategy.fsdp.sync_each_microbatch && c_.axes[plan::Axis::replicate].size > 1;
  return c_.pp == 1 && !sums_replicas;
}

/// Whether what the data-parallel axis exchanges is rehearsed with the passes that it flies beside: units of
/// parameters, and a stage of its own, where nothing else hides it.
bool Draft::rehearses_exchanges() const {
  return c_.scatters_gradients ||
         (c_.pp == 1 && c_.replicated() && (c_.overlap_grad_reduce || c_.overlap_param_gather));
}

ChunkTimes Draft::times_of(const StageKind& kind, int index) {
  const ChunkCost& cost = cost_of(kind.chunk_kinds[index], false);
  const bool exchanges = c_.replicated() && !rehearses_exchanges();
  ChunkSections sections;
  if (exchanges || (c_.pp > 1 && !blocking_)) {
    const ChunkKind& shown = chunk_kinds_[kind.chunk_kinds[index]];
    sections = book_.sections(c_, {shown.stage, chunks_[shown.stage], shown.index}, prices_);
  }
  ChunkTimes out{.forward = pass_time(cost.forward, std::move(sections.forward), restore_),
                 .backward = pass_time(cost.backward, std::move(sections.backward), restore_),
                 .weights = pass_time(cost.weights, std::move(sections.weights), 0),
                 .first_forward = cost.first_forward};
  if (!exchanges) return out;
  const plan::Chunk& chunk = chunks_[kind.shown][index];
  const bool bucketed = plan::has_buckets(c_, kind.shown, index);
  out.gathers = gathers_of(chunk, bucketed);
  out.reductions = reductions_of(chunk, bucketed);
  return out;
}

void Draft::wait_for_the_latest(StageKind& kind, std::vector<ChunkTimes>& chunks) {
  ends_of(kind);
  const Squares behind = sim::wait_for_the_latest(*shape_, kind.shown, chunks, kind.ends->jitter);
  const bool reduced = rehearses_exchanges() && (c_.scatters_gradients || c_.overlap_grad_reduce);
  sim::wait_for_the_latest(*kind.ends, reduced ? Squares{} : behind);
}

double Draft::step_time() {
  std::vector<std::vector<ChunkTimes>> times;  // by kind and chunk
  for (StageKind& kind : kinds_) {
    std::vector<ChunkTimes>& some = times.emplace_back();
    for (int v = 0; v < c_.vpp; ++v) some.push_back(times_of(kind, v));
    wait_for_the_latest(kind, some);
  }
  WalkInput in{.shape = *shape_,
               .times = {},
               .chunks = c_.vpp,
               .begin = job_.framework.step.si(),
               .zeroing = {},
               .kernels = kernels_in_company(c_),
               .transfer = transfer_,
               .blocking = blocking_,
               .shared_link = meets_transfers(c_.shard_axis),
               .gathers_follow = c_.rolling,
               .host_waits = host_waits_};
  std::vector<const StageEnds*> ends;
  for (const int kind : kind_of_) {
    for (int v = 0; v < c_.vpp; ++v) in.times.push_back(&times[kind][v]);
    ends.push_back(&ends_of(kinds_[kind]));
    in.zeroing.push_back(ends.back()->begin);
  }
  std::vector<StageEnd> passes = walk(in);
  if (rehearses_exchanges()) {
    std::vector<double> beyond;  // by kind
    for (const StageKind& kind : kinds_) {
      beyond.push_back(book_.exchanges(c_, kind.shown, chunks_[kind.shown], prices_));
    }
    for (std::size_t s = 0; s < passes.size(); ++s) {
      passes[s].passes = passes[s].reduced = passes[s].passes + std::max(0.0, beyond[kind_of_[s]]);
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
