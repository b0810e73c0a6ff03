// SPDX-License-Identifier: Apache-2.0
#include "core/plan/units.h"

#include <algorithm>
#include <utility>

#include "core/plan/offload.h"
#include "core/plan/shares.h"
#include "core/plan/states.h"

namespace plan {
namespace {

constexpr int kSlots = 10;  // units on their way at once: up to 8 ahead, the computing one, the root
constexpr int kRoot = kSlots - 1;
constexpr EventId event_of_slot(int slot) { return static_cast<EventId>(kEvents - kSlots + slot); }
int slot_of(int unit) { return unit % (kSlots - 1); }

/// Bytes of a gather over `ranks`: parameters in storage, those of them in fp8 alone a byte each, frozen ones as they
/// are kept. All travel at once, as bytes.
std::int64_t gathered(const Context& c, int ranks, std::int64_t count, std::int64_t narrow, std::int64_t frozen) {
  if (count + frozen == 0) return 0;
  return (padded(count, ranks) - narrow) * c.element + narrow + padded(frozen, ranks);
}

/// Experts whose shards are whole, of units that others share: they are cast and copied for each pass like what comes
/// of others, and so are their gradients (torch/distributed/fsdp/_fully_shard: _fsdp_param_group.py, wait_for_unshard,
/// and _fsdp_collectives.py, foreach_reduce, on meshes of one; PyTorch 2.9).
std::int64_t experts_alone(const Context& c, const Held& held) {
  const bool alone = c.fully_sharded && c.job.framework.unit_copies && c.axes[c.shard_axis].size > 1 &&
                     c.axes[c.expert_shard_axis].size == 1 && !c.strategy.offload.fetches_parameters();
  return alone ? held.experts : 0;
}

/// Units asked for ahead.
int ahead(const Context& c) { return c.overlap_param_gather ? c.strategy.fsdp.ahead() : 0; }

}  // namespace

std::int64_t Gathers::bytes(const Held& held) const {
  const auto of = [&](Axis axis, std::int64_t count, std::int64_t narrow, std::int64_t frozen) {
    const int ranks = c_.axes[axis].size;
    const bool elsewhere = ranks > 1 || c_.strategy.offload.fetches_parameters();
    return elsewhere ? gathered(c_, ranks, count, narrow, frozen) : 0;
  };
  return of(c_.shard_axis, held.dense, held.narrow_dense, held.frozen_dense) +
         of(c_.expert_shard_axis, held.experts, held.narrow_experts, held.frozen_experts);
}

void Gathers::start(const Held& held, int slot, int layer, bool behind_compute) {
  if (bytes(held) == 0) return;
  const std::int16_t computing = out_.layer;
  out_.layer = static_cast<std::int16_t>(layer);
  out_.take(c_.job.framework.unit_copies ? Category::communication : Category::parameters, bytes(held));
  out_.take(Category::communication, staged_bytes(c_, held));
  const bool fetches = c_.strategy.offload.fetches_parameters();
  if (fetches) {  // alone it stands for the gather
    bring_shard(c_, out_, held, behind_compute, std::exchange(before_, std::exchange(latest_, event_of_slot(slot))));
    out_.record(event_of_slot(slot));
  }
  const auto gather = [&](Axis axis, std::int64_t size, std::int64_t count, const char* name) {
    if (c_.axes[axis].size == 1 || size == 0) return;
    const std::int16_t channel = out_.pool().channel({Channel::Kind::group, axis});
    const Collective work{CollectiveKind::all_gather, size, c_.group(axis)};
    if (fetches) {
      out_.communicate(work, name, Stream::gather, channel, {Stream::dp, Stream::to_device});
    } else if (behind_compute) {
      out_.communicate(work, name, Stream::gather, channel, {Stream::compute, Stream::dp});
    } else {
      out_.communicate(work, name, Stream::gather, channel, {Stream::dp});
    }
    out_.record(event_of_slot(slot));
    out_.pad(padded(count, c_.axes[axis].size) - count);
  };
  gather(c_.shard_axis, gathered(c_, c_.axes[c_.shard_axis].size, held.dense, held.narrow_dense, held.frozen_dense),
         held.dense, "unit all-gather");
  gather(c_.expert_shard_axis,
         gathered(c_, c_.axes[c_.expert_shard_axis].size, held.experts, held.narrow_experts, held.frozen_experts),
         held.experts, "expert unit all-gather");
  out_.layer = computing;
}

void Gathers::copy_experts(const Held& held, int layer) {
  const std::int64_t experts = experts_alone(c_, held);
  if (experts == 0) return;
  const std::int64_t kept = experts * weight_element(c_), copy = experts * c_.element;
  const std::int16_t computing = std::exchange(out_.layer, static_cast<std::int16_t>(layer));
  out_.take(Category::parameters, copy);
  out_.compute(MemoryBound{MemoryBound::Kind::copy, kept + copy, 2 * copy, 2}, "unit cast", 2);
  out_.layer = computing;
}

void Gathers::arrive(const Held& held, int slot, int layer) {
  copy_experts(held, layer);
  const std::int64_t size = bytes(held);
  if (size == 0) return;
  out_.join(event_of_slot(slot));
  out_.give(Category::communication, staged_bytes(c_, held));
  if (!c_.job.framework.unit_copies) return;
  out_.take(Category::parameters, size);
  out_.compute(MemoryBound{MemoryBound::Kind::copy, size, size, 1}, "unit copy-out", 1);
  out_.give(Category::communication, size);
}

void Gathers::release(const Held& held) {
  out_.give(Category::parameters, bytes(held) + experts_alone(c_, held) * c_.element);
}

ForwardUnits::ForwardUnits(const Context& c, SegmentBuilder& out, const Chunk& chunk, bool gathers_kept)
    : c_(c), out_(out), chunk_(chunk), cut_(c, chunk), gathers_(c, out), gathers_kept_(gathers_kept) {
  if (!c.fully_sharded) return;
  const Phase phase = out.phase;
  out.phase = Phase::forward;
  const bool behind_optimizer = gathers_kept && c.rolling;  // of the step before
  if (gathers_kept) gathers_.start(cut_.root(), kRoot, -1, behind_optimizer);
  for (int unit = 0; unit < std::min(ahead(c), cut_.count()); ++unit) start(unit, behind_optimizer);
  if (gathers_kept && chunk.first) gathers_.arrive(cut_.root(), kRoot, -1);
  out.phase = phase;
}

bool ForwardUnits::needs(int unit) const { return gathers_kept_ || !cut_.kept(unit); }

void ForwardUnits::start(int unit, bool behind_compute) {
  if (unit < cut_.count() && needs(unit))
    gathers_.start(cut_.held(unit), slot_of(unit), cut_.first_layer(unit), behind_compute);
}

void ForwardUnits::enter(int layer) {
  if (!c_.fully_sharded || !cut_.opens(layer)) return;
  out_.phase = Phase::forward;
  const int unit = cut_.of(layer), distance = ahead(c_);
  if (distance == 0) start(unit, true);
  if (needs(unit)) gathers_.arrive(cut_.held(unit), slot_of(unit), cut_.first_layer(unit));
  if (distance > 0) start(unit + distance, true);
}

void ForwardUnits::leave(int layer) {
  if (!c_.fully_sharded || !cut_.closes(layer)) return;
  if (const int unit = cut_.of(layer); !cut_.kept(unit)) gathers_.release(cut_.held(unit));
}

void ForwardUnits::head() {
  if (c_.fully_sharded && gathers_kept_ && !chunk_.first) gathers_.arrive(cut_.root(), kRoot, -1);
}

BackwardUnits::BackwardUnits(const Context& c, SegmentBuilder& out, SegmentBuilder& weights, const Chunk& chunk,
                             Duties duties)
    : c_(c),
      out_(out),
      weights_(weights),
      chunk_(chunk),
      cut_(c, chunk),
      gathers_(c, out),
      buckets_(c, weights, {.sums_replicas = duties.sums_replicas}),
      duties_(duties),
      bucketed_(!c.fully_sharded || c.job.framework.bucketed_units) {
  if (!c.scatters_gradients) return;
  if (c.fully_sharded) {
    for (int i = 0; i < std::min(ahead(c), cut_.count()); ++i) start(cut_.count() - 1 - i, false);
  }
  Held root = root_gradients();
  root.dense -= gradients_of_embedding();
  hold_gradients(root, weights_);
}

bool BackwardUnits::needs(int unit) const { return c_.fully_sharded && !cut_.kept(unit); }

void BackwardUnits::start(int unit, bool behind_compute) {
  if (unit >= 0 && needs(unit)) gathers_.start(cut_.held(unit), slot_of(unit), cut_.first_layer(unit), behind_compute);
}

/// Gradients live from their making to their copy into the reduction, unless they stay for the sum (states.h).
void BackwardUnits::hold_gradients(const Held& held, SegmentBuilder& pen) {
  if (c_.strategy.fsdp.sync_each_microbatch || c_.microbatches == 1) {
    pen.take(Category::gradients, held.total() * made());
  }
}

/// Behind the latest operator, which is one of the inputs' pass where that has made them all and no copy follows.
void BackwardUnits::release_gradients(const Held& held) {
  SegmentBuilder& pen = weights_.empty() ? out_ : weights_;
  pen.give(Category::gradients, held.total() * made());
}

/// Of the ends of the model that the chunk holds, but for a table that waits for another chunk's (states.h).
Held BackwardUnits::root_gradients() const {
  Held root = cut_.root();
  if (chunk_.first) root.dense -= late_table(c_);
  return root;
}

/// Which are made last, but for those of a table that the head or a module of further tokens reads, too.
std::int64_t BackwardUnits::gradients_of_embedding() const {
  const bool before = chunk_.last && (c_.model.tied_embeddings || c_.model.mtp > 0);
  if (!chunk_.first || before) return 0;
  return embedding_parameters(c_) - late_table(c_);
}

void BackwardUnits::embedding() {
  if (c_.scatters_gradients) hold_gradients({gradients_of_embedding(), 0}, out_.weights());
}

void BackwardUnits::enter(int layer) {
  if (!c_.scatters_gradients || !cut_.closes(layer)) return;
  out_.phase = Phase::backward;
  const int unit = cut_.of(layer), distance = ahead(c_);
  if (distance == 0) start(unit, true);
  if (needs(unit)) gathers_.arrive(cut_.held(unit), slot_of(unit), cut_.first_layer(unit));
  if (distance > 0) start(unit - distance, true);
  hold_gradients(cut_.held(unit), weights_);
}

void BackwardUnits::leave(int layer) {
  if (!c_.scatters_gradients || !cut_.opens(layer)) return;
  const int unit = cut_.of(layer);
  if (c_.fully_sharded && (!cut_.kept(unit) || duties_.releases_kept)) gathers_.release(cut_.held(unit));
}

void BackwardUnits::complete(int layer) {
  if (c_.scatters_gradients && cut_.opens(layer)) reduce(cut_.held(cut_.of(layer)));
}

void BackwardUnits::head() {
  if (c_.scatters_gradients && bucketed_) reduce(last_parameters(c_));
}

void BackwardUnits::finish() {
  if (!c_.scatters_gradients) return;
  out_.phase = weights_.phase = Phase::backward;
  out_.layer = weights_.layer = -1;
  if (c_.fully_sharded && duties_.releases_kept) gathers_.release(cut_.root());
  if (!bucketed_) {
    reduce(root_gradients());
  } else if (chunk_.first) {
    reduce({embedding_parameters(c_) - late_table(c_) + cut_.loose().dense, 0});
  }
  if (duties_.reduces) buckets_.flush();
  let_go();
}

void BackwardUnits::let_go() {
  weights_.give(Category::communication, std::exchange(in_flight_, 0));
  weights_.give(Category::gradients, std::exchange(flying_gradients_, 0));
}

void BackwardUnits::reduce(const Held& held) {
  if (!duties_.reduces || held.total() == 0) return;
  weights_.phase = Phase::backward;
  weights_.layer = out_.layer;
  const bool copies = !c_.fused_accumulation;
  if (!bucketed_) {  // one reduction flies while the next unit computes
    let_go();
    weights_.join(Stream::dp);
    if (c_.strategy.offload.updates_on_host()) weights_.join(Stream::to_host);
    if (!copies) weights_.await_joined();  // no copy waits in front of the next reduction
  }
  const bool resident = !c_.strategy.fsdp.sync_each_microbatch && c_.microbatches > 1;
  const std::int64_t buffer = held.total() * c_.gradient_element;
  if (copies) {
    if (!bucketed_) weights_.take(Category::communication, buffer);
    const std::int64_t read = held.total() * (resident ? c_.gradient_element : c_.element);
    weights_.compute(MemoryBound{MemoryBound::Kind::copy, read, buffer, 1}, "unit gradient copy-in", 1);
    if (!bucketed_) in_flight_ = buffer;
  }
  if (const std::int64_t experts = experts_alone(c_, held); experts > 0) {
    const std::int64_t twice = 2 * experts * c_.gradient_element;  // divided, then copied
    weights_.compute(MemoryBound{MemoryBound::Kind::copy, twice, twice, 2}, "unit gradient copy-out", 2);
  }
  if (bucketed_) {
    buckets_.add(held);
  } else {
    buckets_.send_whole(held);
  }
  if (resident) return;
  if (copies || bucketed_) {
    release_gradients(held);
  } else {
    flying_gradients_ = held.total() * made();
  }
}

}  // namespace plan
