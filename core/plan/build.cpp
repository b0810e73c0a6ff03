// SPDX-License-Identifier: Apache-2.0
#include "core/plan/build.h"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <map>
#include <numeric>
#include <utility>

#include "core/plan/builder.h"
#include "core/plan/context.h"
#include "core/plan/data_parallel.h"
#include "core/plan/ends.h"
#include "core/plan/flops.h"
#include "core/plan/layer_list.h"
#include "core/plan/offload.h"
#include "core/plan/overlap.h"
#include "core/plan/passes.h"
#include "core/plan/receives.h"
#include "core/plan/schedule/schedule.h"
#include "core/plan/serving.h"
#include "core/plan/shares.h"
#include "core/plan/states.h"
#include "core/plan/step_ends.h"
#include "core/plan/storage.h"
#include "core/plan/upkeep.h"
#include "core/plan/vocabulary.h"

namespace plan {
namespace {

/// Passes of each chunk so far.
struct Progress {
  explicit Progress(std::size_t chunks) : forwarded(chunks), returned(chunks), completed(chunks) {}
  std::vector<int> forwarded, returned, completed;  // the last: with the gradients of the weights
};

class StageBuilder {
 public:
  StageBuilder(const Context& c, Pool& pool, Plan& plan, int stage, std::vector<Chunk> chunks, std::vector<Slot> slots)
      : c_(c),
        pool_(pool),
        plan_(plan),
        stage_(stage),
        chunks_(std::move(chunks)),
        slots_(std::move(slots)),
        upkeep_(c),
        passes_(c, pool, stage, chunks_) {}
  StageBuilder(const StageBuilder&) = delete;  // passes_ looks at chunks_

  Role build();
  Role serve(int rounds);

 private:
  /// A segment that was written: which pass of which chunk, and what sets it apart from others of it.
  struct Written {
    Pass pass;
    int chunk, other_chunk;  // the second: of the backward in an overlapped one
    Passes::ForwardKind forward = {};
    Passes::BackwardKind backward = {};
    auto operator<=>(const Written&) const = default;
  };

  std::int32_t add(Segment segment);
  std::int32_t segment(const Written&);
  Written next(const Slot&, Progress&) const;
  void call_vocabulary(Role&, const Slot&);
  void run_slots(Role&);
  void hold_versions(Role&, const Held&);

  const Context& c_;
  Pool& pool_;
  Plan& plan_;
  int stage_;
  std::vector<Chunk> chunks_;
  std::vector<Slot> slots_;
  Upkeep upkeep_;
  Passes passes_;
  std::map<Written, std::int32_t> written_;
  std::map<VocabularyCall, std::int32_t> written_of_vocabulary_;
};

std::int32_t StageBuilder::add(Segment segment) {
  plan_.segments.push_back(std::move(segment));
  return static_cast<std::int32_t>(plan_.segments.size()) - 1;
}

std::int32_t StageBuilder::segment(const Written& w) {
  if (const auto known = written_.find(w); known != written_.end()) return known->second;
  const bool split = w.pass == Pass::input_gradient || w.pass == Pass::weight_gradient;
  const bool fills_buckets = w.backward.reduces && !c_.scatters_gradients;  // layer by layer, as its gradients come
  if (w.pass == Pass::forward) {
    written_[w] = add(passes_.forward(w.chunk, w.forward));
  } else if (w.pass == Pass::overlapped) {
    const auto weights = fills_buckets ? Passes::Weights::at_once : Passes::Weights::late;
    Segment forward = passes_.forward(w.chunk, w.forward);
    written_[w] = add(overlap(std::move(forward), passes_.backward(w.other_chunk, w.backward, weights).input));
  } else {
    const auto weights = split ? Passes::Weights::apart : Passes::Weights::at_once;
    Passes::Backward parts = passes_.backward(w.chunk, w.backward, weights);
    if (w.pass == Pass::weight_gradient) {
      written_[w] = add(std::move(parts.weights));
    } else {
      written_[w] = add(std::move(parts.input));
    }
    if (w.pass == Pass::input_gradient) {
      const Written rest{
          Pass::weight_gradient, w.chunk, -1, {}, {.reduces = w.backward.reduces, .sums = w.backward.sums}};
      written_[rest] = add(std::move(parts.weights));
    }
  }
  return written_[w];
}

void StageBuilder::call_vocabulary(Role& role, const Slot& slot) {
  const VocabularyCall call{
      slot.pass, upkeep_.gathers_buckets && slot.pass == Pass::look_up && slot.microbatch == 0,
      upkeep_.reduces_buckets && slot.pass == Pass::rows_gradient && slot.microbatch + 1 == c_.microbatches,
      slot.pass != Pass::look_up && slot.microbatch % 2 == 1};
  const auto [known, fresh] = written_of_vocabulary_.try_emplace(call, 0);
  if (fresh) known->second = add(vocabulary_segment(c_, pool_, stage_, call));
  role.calls.push_back({known->second, slot.microbatch, -1, slot.pass});
}

StageBuilder::Written StageBuilder::next(const Slot& slot, Progress& so_far) const {
  const bool overlapped = slot.pass == Pass::overlapped;
  const bool forwards = slot.pass == Pass::forward || overlapped;
  const bool returns = slot.pass != Pass::forward && slot.pass != Pass::weight_gradient;
  const int back = overlapped ? slot.other_chunk : slot.chunk;
  const bool bare = chunks_[back].layers == 0;  // the gradients of an end alone are made with its inputs'
  const bool completes =
      slot.pass != Pass::forward && slot.pass != (bare ? Pass::weight_gradient : Pass::input_gradient);
  const int passes = static_cast<int>(c_.microbatches) / (c_.placement.two_copies() ? 2 : 1);  // of a chunk
  const bool first = forwards && so_far.forwarded[slot.chunk]++ == 0;
  const bool last_returns = returns && ++so_far.returned[back] == passes;
  const bool last = completes && ++so_far.completed[back] == passes;
  const Chunk& chunk = chunks_[slot.chunk];
  Written w{slot.pass, slot.chunk, slot.other_chunk};
  w.forward.gathers = forwards && upkeep_.gathers(first);
  w.forward.first = first && upkeep_.first_differs;
  w.backward.reduces = slot.pass != Pass::forward && upkeep_.reduces(last);
  w.backward.sums = (slot.pass != Pass::forward && upkeep_.each_sums) || (last && w.backward.reduces);
  w.backward.releases = returns && (!upkeep_.keeps || last_returns);
  w.backward.adds = upkeep_.sums_on_host && completes && so_far.completed[back] > 1;
  w.backward.odd = c_.spread_vocab && completes && (chunk.first || chunk.last) && slot.microbatch % 2 == 1;
  return w;
}

void StageBuilder::run_slots(Role& role) {
  Progress so_far(chunks_.size());
  for (const Slot& slot : slots_) {
    if (of_vocabulary(slot.pass)) {
      call_vocabulary(role, slot);
      continue;
    }
    role.calls.push_back({segment(next(slot, so_far)), slot.microbatch, static_cast<std::int16_t>(slot.chunk),
                          slot.pass, slot.other, static_cast<std::int16_t>(slot.other_chunk)});
  }
}

/// An asynchronous pipeline holds, from one step to the next, the activations of the microbatches under way and the
/// versions of the weights that they were forwarded with.
void StageBuilder::hold_versions(Role& role, const Held& held) {
  const std::int64_t ahead = c_.pp - 1 - stage_;
  const std::int64_t versions = (ahead + c_.microbatches - 1) / c_.microbatches;  // besides the latest
  role.resident[static_cast<int>(Category::parameters)] += versions * held.total() * c_.element;
  for (const MemoryChange& change : plan_.segments[segment({Pass::forward, 0, -1})].memory) {
    role.resident[static_cast<int>(change.category)] += (ahead + 1) * change.bytes;
  }
}

Role StageBuilder::serve(int rounds) {
  Role role;
  role.stage = stage_;
  role.ranks = c_.axes.ranks;
  role.first_rank = c_.axes.rank_of(stage_, 0);
  const Chunk& chunk = chunks_.front();
  const Held held = chunk_parameters(c_, chunk);
  role.resident[static_cast<int>(Category::parameters)] =
      (held.total() - held.narrow_dense - held.narrow_experts) * c_.element + held.frozen() + narrow_copies(c_, chunk);
  role.resident[static_cast<int>(Category::kv_cache)] = kv_cache_bytes(c_, chunk);
  const std::int32_t lone = add(passes_.infer(false, false));
  const bool goes_round = rounds > 1 && c_.pp > 1;
  const std::int32_t first = goes_round ? add(passes_.infer(false, true)) : lone;
  const std::int32_t middle = goes_round ? add(passes_.infer(true, true)) : lone;
  const std::int32_t last = goes_round ? add(passes_.infer(true, false)) : lone;
  for (int round = 0; round < rounds; ++round) {
    const std::int32_t segment = round + 1 == rounds ? last : round == 0 ? first : middle;
    for (int m = 0; m < static_cast<int>(c_.microbatches); ++m) role.calls.push_back({segment, m, 0});
  }
  return role;
}

Role StageBuilder::build() {
  Role role;
  role.stage = stage_;
  role.ranks = c_.axes.ranks;
  role.first_rank = c_.axes.rank_of(stage_, 0);
  const Held held = stage_parameters(c_, chunks_);
  hold_states(c_, held, chunks_, role);

  role.calls.reserve(slots_.size() + 2);
  SegmentBuilder begin(pool_, "begin");
  const bool gradients_away = c_.scatters_gradients && c_.strategy.offload.updates_on_host();
  const std::int64_t zeroed = gradients_away ? 0 : (c_.scatters_gradients ? optimizer_share(c_, held) : held).total();
  const CheckpointShare checkpoint = checkpoint_share(c_, stage_);
  begin_storage(c_, begin, stage_, checkpoint);
  begin.take(Category::gradients, unscattered_sums(c_, held));  // end_step() gives them back
  if (!c_.rolling) begin_step(c_, begin, zeroed);
  begin.give(Category::gradients, fresh_gradients(c_, held), fresh_apart(c_));  // the backward takes them
  role.calls.push_back({add(begin.finish()), -1, -1});
  run_slots(role);
  if (!c_.strategy.traits().flushes) hold_versions(role, held);
  SegmentBuilder end(pool_, "end");
  end_step(c_, end, chunks_, stage_);
  if (c_.rolling) {  // the next one begins; nothing but these waits is between it and weights that are on their way
    if (gathers_at_end(c_)) end.join(Stream::dp);
    await_updates(c_, end);
    begin_step(c_, end, zeroed);
  }
  end_storage(c_, end, checkpoint);
  role.calls.push_back({add(end.finish()), -1, -1});
  return role;
}

/// Replicas that serve wait for no other ones, but where they share experts.
int waiting_of(const Context& c) {
  const int replica = c.axes[Axis::tp].size * c.job.strategy.cp,
            experts = c.axes[Axis::etp].size * c.axes[Axis::ep].size;
  const int place = std::lcm(replica, experts);
  return (c.serves ? place : c.axes.ranks) * c.pp;
}

}  // namespace

Plan build(const spec::Job& job, int rounds) {
  const Context context(job);
  Plan plan;
  plan.tp = context.tp;
  plan.dp = context.dp;
  plan.cp = job.strategy.cp;
  plan.pp = context.pp;
  plan.axes = context.axes;
  Pool pool(plan);
  plan.rolling = context.rolling;
  plan.waiting = waiting_of(context);
  plan.stages_over_fabric = context.stage_transfer.crosses_domain;
  std::vector<std::vector<Chunk>> chunks;
  std::vector<std::vector<Slot>> slots(context.pp);
  if (!job.model.is_list()) chunks = chunks_of(context);
  if (!job.model.is_list() && !context.serves) {
    const Pipeline pipeline{.stages = context.pp,
                            .chunks = context.vpp,
                            .microbatches = static_cast<int>(context.microbatches),
                            .beside = job.strategy.pairs_passes()};
    slots = context.spread_vocab ? with_vocabulary(job.strategy.schedule, pipeline, vocabulary_passes(context))
                                 : orders(job.strategy.schedule, pipeline);
  }
  for (int stage = 0; stage < context.pp; ++stage) {
    if (job.model.is_list()) {
      plan.roles.push_back(layer_list_role(context, pool, plan));
      break;
    }
    StageBuilder builder(context, pool, plan, stage, std::move(chunks[stage]), std::move(slots[stage]));
    plan.roles.push_back(context.serves ? builder.serve(rounds) : builder.build());
  }
  if (context.placement.crossing()) post_receives(context, pool, plan);
  plan.model_flops = model_flops(job);
  plan.hardware_flops = hardware_flops(job);
  plan.tokens = static_cast<double>(job.training.global_batch) * static_cast<double>(context.sequence);
  return plan;
}

std::int64_t Plan::operators() const {
  std::int64_t count = 0;
  for (const Role& role : roles) {
    for (const Call& call : role.calls) count += static_cast<std::int64_t>(segments[call.segment].operators.size());
  }
  return count;
}

}  // namespace plan
