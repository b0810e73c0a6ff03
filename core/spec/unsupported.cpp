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
      {job.model.kind != "transformer", "model", "a model that is a list of operators (kind: layers)",
       "choose a transformer"},
      {job.model.moe.has_value(), "model.moe", "mixture of experts", "choose a dense model"},
      {job.model.mla.has_value(), "model.mla", "multi-head latent attention", "choose a model without mla"},
      {job.model.mtp > 0, "model.mtp", "multi-token prediction", "write mtp: 0"},
      {t.mode != Mode::train, "training.mode", "inference (prefill, decode)", "write mode: train"},
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
      {s.lora && s.zero >= 2, "strategy.lora", "low-rank adapters beside sharded weights", "write zero: 1"},
      {s.lora && job.model.moe, "strategy.lora", "low-rank adapters beside experts", "choose a dense model"},
      {s.lora && job.model.mla, "strategy.lora", "low-rank adapters beside latent attention",
       "choose a model without mla"},
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
