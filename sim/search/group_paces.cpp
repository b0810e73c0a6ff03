// SPDX-License-Identifier: Apache-2.0
#include "sim/search/group_paces.h"

#include <cstddef>
#include <vector>

#include "sim/predict.h"

namespace sim {
namespace {

/// The job on one node of the kind, each of whose GPUs has the whole model.
spec::Job uncut(const spec::Job& base, int kind) {
  spec::Job job = base;
  job.cluster = base.cluster.of_kind(kind);
  job.cluster.nodes = 1;
  job.simulation = {};
  spec::Strategy& s = job.strategy;
  s.tp = s.cp = s.pp = s.vpp = s.ep = s.etp = 1;
  s.sp = s.embedding_in_split = false;
  s.etp_given = true;
  s.dp = job.cluster.gpus();
  s.zero = s.shard = 0;
  s.schedule = spec::Schedule::one_f_one_b;
  s.stage_layers.clear();
  s.vocab_parallel = spec::VocabParallel::tensor;
  s.optimizer_barrier.reset();
  s.moe_routing.clear();
  s.fsdp_given = s.reshard_given = s.sync_given = s.offload_given = false;
  s.fsdp = {};
  s.offload = {};
  return job;
}

/// Seconds: a step of two of them over one of one. 0: it does not run so.
double microbatch_time(spec::Job job) {
  double seconds = 0;
  for (const int microbatches : {1, 2}) {
    job.training.global_batch = job.training.micro_batch * *job.strategy.dp * microbatches;
    if (!spec::check(job).empty()) return 0;
    const double step = outline(spec::resolve(job)).step_time_s;
    seconds = microbatches == 1 ? -step : seconds + step;
  }
  return seconds;
}

}  // namespace

void tell_paces(spec::Job& job) {
  std::vector<double> paces;
  for (std::size_t kind = 0; kind < job.cluster.groups.size(); ++kind) {
    const double seconds = microbatch_time(uncut(job, static_cast<int>(kind)));
    if (!(seconds > 0)) return;
    paces.push_back(1 / seconds);
  }
  for (std::size_t kind = 0; kind < paces.size(); ++kind) job.cluster.groups[kind].pace = paces[kind];
}

}  // namespace sim
