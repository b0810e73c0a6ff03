// real/executor/starting_parameters.cpp -- what a rank has of each parameter before its first step, and where: on the
// device, in the host's memory or on its drives. SPDX-License-Identifier: Apache-2.0
#include "core/plan/states.h"
#include "real/executor/actions/fp8_weights.h"
#include "real/executor/executor.h"

namespace real {
namespace {

/// All numbers of its part.
Tensor start(RankState& rank, const Parameter& p) {
  Backend& backend = rank.backend;
  if (p.start == Start::one) return backend.upload(std::vector<double>(p.count(), 1.0));  // norms, which are narrow
  const Tensor out = backend.allocate(p.count(), kNumbers);
  if (p.start == Start::zero) backend.fill(out, 0);
  std::int64_t begin = 0;
  for (const kernels::Normal& draw : draws_of(p, rank.settings.seed)) {
    backend.normal(draw, out.part(begin, draw.count()));
    begin += draw.count();
  }
  return out;
}

void states_to_host(RankState& rank, Parameter& p) {
  Backend& backend = rank.backend;
  const spec::Offload& offload = rank.c.strategy.offload;
  if (p.sharded && !offload.fetches_parameters()) {
    p.shard.tensor = backend.allocate(p.owned.length, kWeight);
    backend.copy(p.master.tensor, p.shard.tensor);
  }
  for (Value* state : {&p.master, &p.m, &p.v}) {
    if (*state) state->tensor = backend.to_host(state->tensor);
  }
  if (!offload.states_on_drives()) return;
  const auto leave = [&](Value& of_host, Value& there) {
    if (!of_host) return;
    there.tensor = backend.to_drive(of_host.tensor);
    of_host = {};
  };
  leave(p.master, p.drives.master);
  leave(p.m, p.drives.m);
  leave(p.v, p.drives.v);
}

/// In front of states_to_host().
void weights_to_host(RankState& rank, Parameter& p) {
  if (!p.frozen && plan::shards_masters(rank.c)) return;  // the masters, which are states
  const Tensor narrow = rank.backend.allocate(p.owned.length, kWeight);
  rank.backend.copy(p.master.tensor, narrow);
  p.host_shard.tensor = rank.backend.to_host(narrow);
  if (p.frozen) p.master = {};
  if (!rank.c.strategy.offload.parameters_on_drives()) return;
  p.drives.weight.tensor = rank.backend.to_drive(p.host_shard.tensor);
  p.host_shard = {};
}

}  // namespace

void Executor::start_parameters() {
  const spec::Offload& offload = rank_.c.strategy.offload;
  const auto zeros = [&](Value& value, std::int64_t count, Purpose purpose) {
    value.tensor = rank_.backend.allocate(count, purpose);
    rank_.backend.fill(value.tensor, 0);
  };
  for (Parameter& p : rank_.parameters.all()) {
    const Tensor whole = start(rank_, p);
    const bool comes_and_goes = rank_.comes_and_goes(p);
    if (!p.frozen || comes_and_goes) {
      p.master.tensor = rank_.backend.allocate(p.owned.length, p.frozen ? kWeight : kState);
      rank_.backend.copy(whole.part(p.owned.begin, p.owned.length), p.master.tensor);
    }
    if (p.kept == Kept::codes) {
      start_fp8_weight(rank_, p, whole);
    } else if (!comes_and_goes) {
      p.weight.tensor = rank_.backend.allocate(p.count(), kWeight);
      rank_.backend.copy(whole, p.weight.tensor);
    }
    if (offload.fetches_parameters()) weights_to_host(rank_, p);
    if (p.frozen) continue;
    if (!rank_.c.scatters_gradients || !p.reduced_apart) zeros(p.gradient, p.count(), kGradient);
    if (p.reduced_apart) zeros(p.reduced, p.owned.length, kGradient);
    const spec::Optimizer optimizer = rank_.job.training.optimizer;
    const bool narrow = optimizer == spec::Optimizer::adamw8bit;
    const Purpose wide = rank_.job.training.moments() == spec::Dtype::fp32 ? kState : kNarrowState;
    const auto moments = [&](Value& value, Value& scales) {
      zeros(value, p.owned.length, narrow ? kStateCodes : wide);
      if (!narrow) return;
      const Range copies = p.owned_copies();
      zeros(scales, kernels::moment_blocks(copies.begin) + kernels::moment_blocks(copies.length), kState);
    };
    moments(p.m, p.m_scales);
    if (optimizer != spec::Optimizer::sgd) moments(p.v, p.v_scales);
    if (offload.updates_on_host()) states_to_host(rank_, p);
  }
}

}  // namespace real
