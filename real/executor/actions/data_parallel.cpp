// real/executor/actions/data_parallel.cpp -- gradients reduced over the ranks that hold copies, parameters gathered
// from the ranks that own them: DDP, zero 1, 2, 3, and their groups of HSDP. SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "real/executor/actions.h"
#include "real/executor/actions/fp8_weights.h"
#include "real/executor/flat_order.h"

namespace real {
namespace {

using plan::Axis;

Axis axis_of(const Task& task) { return task.rank.plan.channels[task.op.channel].axis; }

Axis across(Axis shards) { return shards == Axis::shard ? Axis::replicate : Axis::expert_replicate; }

/// Whether an all-reduce over the copies of a shard completes what a reduce-scatter brings.
bool replicated(const Task& task, Axis shards) {
  return (shards == Axis::shard || shards == Axis::expert_shard) && task.rank.place.size(across(shards)) > 1;
}

Purpose of_gradients(const Task& task) { return of_collective(task.c.gradient_element); }

Tensor gradient_of(Task& task, Parameter& p) { return p.gradient ? task.read(p.gradient, p.name) : task.gradient(p); }

/// To what earlier microbatches left, which is where the optimizer works: here, or on the host.
void add_reduced(Task& task, Parameter& p, const Tensor& sum) {
  if (task.c.scatters_gradients && task.c.strategy.offload.updates_on_host()) {
    task.backend.copy(sum, task.renew(p.reduced, sum.count, kGradient));
  } else {
    task.backend.add(sum, task.write(p.reduced, p.name));
  }
}

/// Gradients of all ranks of the group, one after the other.
Tensor summed_gradients(Task& task, const std::vector<Parameter*>& carried) {
  const Tensor packed = task.backend.allocate(packed_share(carried, 1), of_gradients(task));
  pack(task.backend, carried, 1, packed, [&](Parameter& p) { return gradient_of(task, p); });
  task.backend.all_reduce(task.group(), Sum::add, packed);
  return packed;
}

void all_reduce_carried(Task& task, const std::vector<Parameter*>& carried) {
  const Tensor packed = summed_gradients(task, carried);
  std::int64_t at = 0;
  for (Parameter* p : carried) {
    const Tensor sum = packed.part(at, p->count());
    at += p->count();
    if (p->reduced_apart) {
      add_reduced(task, *p, sum.part(p->owned.begin, p->owned.length));
      if (task.c.scatters_gradients) p->gradient = {};  // made anew by the next microbatch
    } else {
      task.backend.copy(sum, task.write(p->gradient, p->name));
    }
  }
  task.rank.summed = carried;
}

/// As a reduce-scatter over so many ranks leaves them, each padded to its share.
void add_shards(Task& task, const std::vector<Parameter*>& carried, int ranks, const Tensor& shards) {
  std::int64_t at = 0;
  for (Parameter* p : carried) {
    add_reduced(task, *p, shards.part(at, p->owned.length));
    at += p->share(ranks);
  }
  task.rank.summed = carried;
}

/// Whether the all-reduce over the copies of a shard comes before another reduction, not in a later microbatch.
bool summed_next(const Task& task) {
  const auto& operators = task.rank.plan.segments[task.call.segment].operators;
  const auto next = std::find_if(operators.begin() + task.rank.order.now().by.at + 1, operators.end(), [](auto& op) {
    return op.stream == plan::Stream::replicate || op.stream == plan::Stream::dp;
  });
  return next != operators.end() && next->stream == plan::Stream::replicate;
}

/// Where shards are summed over their copies in the last microbatch alone: what earlier ones left joins that sum.
void take_reduced(Task& task, const std::vector<Parameter*>& carried, int ranks, const Tensor& shards) {
  std::int64_t at = 0;
  for (Parameter* p : carried) {
    const Tensor before = task.write(p->reduced, p->name);
    task.backend.add(before, shards.part(at, p->owned.length));
    task.backend.fill(before, 0);
    at += p->share(ranks);
  }
}

/// What the owned range of each parameter gets, added to what earlier microbatches left there. Under HSDP the
/// all-reduce behind it does that.
void take_shards(Task& task, const std::vector<Parameter*>& carried, const Tensor& mine) {
  const Axis axis = axis_of(task);
  const int ranks = task.rank.place.size(axis);
  if (replicated(task, axis) && summed_next(task)) {
    if (task.c.sums_replicas_last) take_reduced(task, carried, ranks, mine);
    task.rank.scattered.parameters = carried;
    task.set(task.rank.scattered.shards, mine);
  } else {
    add_shards(task, carried, ranks, mine);
  }
  if (!task.c.scatters_gradients) return;
  for (Parameter* p : carried) p->gradient = {};  // made anew by the next microbatch
}

void reduce_scatter(Task& task) {
  const Axis axis = axis_of(task);
  const int ranks = task.rank.place.size(axis);
  const std::vector<Parameter*> carried = next_gradients(task, axis);
  const std::int64_t share = packed_share(carried, ranks);
  const Tensor packed = task.backend.allocate(share * ranks, of_gradients(task));
  const Tensor mine = task.backend.allocate(share, of_gradients(task));
  pack(task.backend, carried, ranks, packed, [&](Parameter& p) { return gradient_of(task, p); });
  task.backend.reduce_scatter(task.group(), packed, mine);
  take_shards(task, carried, mine);
}

/// Each rank keeps its share, which under HSDP is summed over the groups behind it.
void all_reduce(Task& task) {
  const Axis axis = axis_of(task);
  const std::vector<Parameter*> carried = next_gradients(task, axis);
  if (!replicated(task, axis)) return all_reduce_carried(task, carried);
  const int ranks = task.rank.place.size(axis);
  const Tensor packed = summed_gradients(task, carried);
  const Tensor mine = task.backend.allocate(packed_share(carried, ranks), of_gradients(task));
  task.backend.fill(mine, 0);
  std::int64_t whole = 0, share = 0;
  for (const Parameter* p : carried) {
    task.backend.copy(packed.part(whole + p->owned.begin, p->owned.length), mine.part(share, p->owned.length));
    whole += p->count();
    share += p->share(ranks);
  }
  take_shards(task, carried, mine);
}

/// HSDP: the shards that reduce_scatter() brought, where they lie, over the groups; or, where a shard is the whole, the
/// gradients.
void all_reduce_shards(Task& task) {
  const Axis shards = axis_of(task) == Axis::replicate ? Axis::shard : Axis::expert_shard;
  if (task.rank.place.size(shards) == 1) return all_reduce_carried(task, next_gradients(task, shards));
  Scattered& scattered = task.rank.scattered;
  const Tensor mine = task.write(scattered.shards, "gradient shards");
  task.backend.all_reduce(task.group(), Sum::add, mine);
  add_shards(task, scattered.parameters, task.rank.place.size(shards), mine);
  scattered = {};
}

void gather(Task& task, const std::vector<Parameter*>& carried) {
  const int ranks = task.rank.place.size(axis_of(task));
  const std::int64_t share = packed_share(carried, ranks);
  const Purpose purpose{Meaning::activation, plan::Category::communication};
  const Tensor mine = task.backend.allocate(share, purpose), packed = task.backend.allocate(share * ranks, purpose);
  task.backend.fill(mine, 0);
  std::int64_t at = 0;
  for (Parameter* p : carried) {
    task.backend.copy(task.read(p->gathered_from(), p->name), mine.part(at, p->owned.length));
    at += p->share(ranks);
  }
  task.backend.all_gather(task.group(), mine, packed);
  unpack(task.backend, carried, ranks, packed, [&](Parameter& p) { return p.weight.tensor; });
}

/// Zero 1: over weights of which this rank has updated its range alone. The Plan has one collective for both kinds.
void gather_updated(Task& task) {
  std::vector<Parameter*> wide, codes;
  for (Parameter* p : next_weights(task, axis_of(task))) (p->kept == Kept::codes ? codes : wide).push_back(p);
  for (Parameter* p : wide) {
    if (p->kept == Kept::until_cast) {
      task.renew(p->weight, p->count(), kWeight);
    } else {
      task.write(p->weight, p->name);
    }
  }
  if (!wide.empty()) gather(task, wide);
  if (!codes.empty()) gather_fp8_weights(task, codes, task.rank.place.size(axis_of(task)));
}

/// Zero 3: into memory that release_unit() lets go.
void gather_unit(Task& task) {
  const std::vector<Parameter*> carried = unit_weights(task, axis_of(task));
  for (Parameter* p : carried) task.renew(p->weight, p->count(), kWeight);
  gather(task, carried);
  if (task.c.strategy.offload.fetches_parameters()) {
    for (Parameter* p : carried) p->shard = {};  // fetched anew for the next gather
  }
  GatheredUnit& unit = task.rank.gathered[{task.site.chunk, task.op.layer}];
  unit.bytes += task.work<plan::Collective>().bytes;
  unit.parameters.insert(unit.parameters.end(), carried.begin(), carried.end());
}

/// Zero 3: what no other rank has a part of is computed with as it is kept, and its copy goes with the unit.
void keep_unit(Task& task) {
  task.rank.gathered[{task.site.chunk, task.op.layer}].bytes += task.work<plan::MemoryBound>().written / 2;
}

/// The Plan's copies between parameters and the buffers of collectives, which packing is here.
void copied_while_packed(Task&) {}

/// Whose gradient is that of the mean over all tokens of the batch, so that sums are what is wanted.
void scaled_by_the_loss(Task&) {}

}  // namespace

void add_data_parallel_actions(Actions& actions) {
  actions["gradient all-reduce"] = all_reduce;
  actions["gradient reduce-scatter"] = reduce_scatter;
  actions["gradient shard all-reduce"] = all_reduce_shards;
  actions["parameter all-gather"] = gather_updated;
  actions["expert parameter all-gather"] = gather_updated;
  actions["unit all-gather"] = gather_unit;
  actions["expert unit all-gather"] = gather_unit;
  actions["bucket scaling"] = scaled_by_the_loss;
  actions["bucket layout"] = copied_while_packed;
  actions["bucket copy-in"] = copied_while_packed;
  actions["bucket copy-out"] = copied_while_packed;
  actions["unit copy-out"] = copied_while_packed;
  actions["unit gradient copy-in"] = copied_while_packed;
  actions["unit gradient copy-out"] = copied_while_packed;
  actions["unit cast"] = keep_unit;
}

}  // namespace real
