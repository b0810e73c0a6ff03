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
      {job.model.kind != "transformer", "model", "a model that is a list of operators (kind: layers)",
       "choose a transformer"},
      {t.mode != Mode::train, "training.mode", "inference (prefill, decode)", "write mode: train"},
      {bytes_of(t.precision) < 2, "training.precision", "training below 16 bits (fp8, mxfp8, nvfp4)",
       "write precision: bf16"},
      {t.optimizer == Optimizer::adamw8bit, "training.optimizer", "an optimizer with 8-bit states",
       "write optimizer: adamw"},
      {job.model.moe && job.model.parallel_block, "model.moe", "experts in a block whose branches are parallel",
       "write parallel_block: false"},
      {s.ep > 1 && s.overlap.expert.value_or(false), "strategy.overlap.expert",
       "the exchange of one microbatch's tokens beside the compute of another", "write expert: false"},
      {s.zero >= 2 && (s.zero_bubble() || s.schedule == Schedule::dualpipe || s.schedule == Schedule::pipedream),
       "strategy.schedule", "a schedule with weight gradients apart, two copies or no flush under zero 2 and 3",
       "write schedule: 1f1b or interleaved, or zero: 1"},
      {s.offload_given, "strategy.offload", "offloading to the host or to storage", "leave offload out"},
      {s.lora_given, "strategy.lora", "low-rank adapters", "leave lora out"},
      {job.network.fidelity != "closed_form", "network.fidelity", "simulated flows on the fabric",
       "write fidelity: closed_form"},
  };
  std::vector<base::Fault> faults;
  for (const Refusal& refusal : refusals) {
    if (!refusal.given) continue;
    faults.push_back({refusal.field, std::string(refusal.what) + " is not supported by this version", refusal.mend});
  }
  return faults;
}

}  // namespace spec
