// core/spec/unsupported.cpp -- what a Job may say and this version does not compute. One row each: whoever adds a
// feature deletes its row. SPDX-License-Identifier: Apache-2.0
#include "core/spec/job.h"

namespace spec {
namespace {

struct Refusal {
  bool given;
  const char *field, *what, *mend;
};

}  // namespace

std::vector<base::Fault> unsupported(const Job& job) {
  const Strategy& s = job.strategy;
  const Training& t = job.training;
  const Refusal refusals[] = {
      {job.mixed_cluster, "cluster.node", "a cluster of several kinds of node", "name one node"},
      {t.mode == Mode::decode && job.model.mla, "training.mode", "decoding with latent attention",
       "write mode: prefill"},
      {t.serves() && s.cp > 1, "strategy.cp", "context parallelism in prefill and decode", "write cp: 1"},
      {t.serves() && (s.zero_bubble() || s.schedule == Schedule::dualpipe || s.schedule == Schedule::pipedream),
       "strategy.schedule", "a schedule of training in prefill and decode", "write schedule: 1f1b"},
      {job.model.moe && job.model.parallel_block, "model.moe", "experts in a block whose branches are parallel",
       "write parallel_block: false"},
      {s.ep > 1 && s.overlap.expert.value_or(false), "strategy.overlap.expert",
       "the exchange of one microbatch's tokens beside the compute of another", "write expert: false"},
      {s.zero >= 2 && (s.zero_bubble() || s.schedule == Schedule::dualpipe || s.schedule == Schedule::pipedream),
       "strategy.schedule", "a schedule with weight gradients apart, two copies or no flush under zero 2 and 3",
       "write schedule: 1f1b or interleaved, or zero: 1"},
      {s.lora && s.zero >= 2, "strategy.lora", "low-rank adapters beside sharded weights", "write zero: 1"},
      {s.lora && job.model.moe, "strategy.lora", "low-rank adapters beside experts", "choose a dense model"},
      {s.lora && job.model.mla, "strategy.lora", "low-rank adapters beside latent attention",
       "choose a model without mla"},
      {job.network.fidelity == "coupled", "network.fidelity", "a step whose every transfer is a flow",
       "write fidelity: flow or closed_form"},
  };
  std::vector<base::Fault> faults;
  for (const Refusal& refusal : refusals) {
    if (!refusal.given) continue;
    faults.push_back({refusal.field, std::string(refusal.what) + " is not supported by this version", refusal.mend});
  }
  return faults;
}

}  // namespace spec
