// core/spec/unsupported.cpp -- what a Job may say and this version does not compute. One row each: whoever adds a
// feature deletes its row. SPDX-License-Identifier: Apache-2.0
#include "core/spec/job.h"

namespace spec {
namespace {

struct Refusal {
  bool given;
  const char *field, *what, *mend;
};

bool zero_bubble(Schedule s) { return s == Schedule::zb_h1 || s == Schedule::zb_h2 || s == Schedule::zb_v; }

}  // namespace

std::vector<base::Fault> unsupported(const Job& job) {
  const Strategy& s = job.strategy;
  const Training& t = job.training;
  const Refusal refusals[] = {
      {job.mixed_cluster, "cluster.node", "a cluster of several kinds of node", "name one node"},
      {job.model.moe.has_value(), "model.moe", "mixture of experts", "choose a dense model"},
      {job.model.mla.has_value(), "model.mla", "multi-head latent attention", "choose a model without mla"},
      {job.model.mtp > 0, "model.mtp", "multi-token prediction", "write mtp: 0"},
      {t.mode == Mode::decode && job.model.mla, "training.mode", "decoding with latent attention",
       "write mode: prefill"},
      {t.serves() && s.cp > 1, "strategy.cp", "context parallelism in prefill and decode", "write cp: 1"},
      {bytes_of(t.precision) < 2, "training.precision", "training below 16 bits (fp8, mxfp8, nvfp4)",
       "write precision: bf16"},
      {t.optimizer == Optimizer::adamw8bit, "training.optimizer", "an optimizer with 8-bit states",
       "write optimizer: adamw"},
      {s.zero >= 2, "strategy.zero", "sharding of gradients or parameters (zero 2 and 3)", "write zero: 1"},
      {s.cp > 1, "strategy.cp", "context parallelism", "write cp: 1"},
      {s.ep > 1 || s.etp > 1, s.ep > 1 ? "strategy.ep" : "strategy.etp", "expert parallelism",
       "write ep: 1 and etp: 1"},
      {s.shard > 0, "strategy.shard", "sharding inside groups of data-parallel ranks", "leave shard out"},
      {zero_bubble(s.schedule), "strategy.schedule", "a zero-bubble schedule", "write schedule: 1f1b or interleaved"},
      {s.schedule == Schedule::dualpipe, "strategy.schedule", "the DualPipe schedule",
       "write schedule: 1f1b or interleaved"},
      {s.schedule == Schedule::pipedream, "strategy.schedule", "the asynchronous PipeDream schedule",
       "write schedule: 1f1b or interleaved"},
      {s.recompute.kind == Recompute::Kind::selective_ops, "strategy.recompute", "recomputing every second matmul",
       "write recompute: selective or full"},
      {s.fsdp_given, "strategy.fsdp", "fully sharded data parallelism", "leave fsdp out"},
      {s.offload_given, "strategy.offload", "offloading to the host or to storage", "leave offload out"},
      {s.lora_given, "strategy.lora", "low-rank adapters", "leave lora out"},
      {s.rank_order != "tp-cp-dp-pp", "strategy.rank_order", "another order of ranks", "write rank_order: tp-cp-dp-pp"},
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
