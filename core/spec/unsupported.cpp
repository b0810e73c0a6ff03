// core/spec/unsupported.cpp -- what a Job may say and this version does not compute, where several strategies meet. One
// row each: whoever adds a feature deletes its row. What one strategy alone does not do yet stands with its rules
// (offload.cpp, vocabulary_rules.cpp, mixed_cluster.cpp, ...). SPDX-License-Identifier: Apache-2.0
#include "core/spec/job.h"

namespace spec {
namespace {

struct Refusal {
  bool given;
  const char *field, *what, *mend;
};

/// SimGrid 3.32 looks at every flow under way whenever one ends.
constexpr int kMostCoupledRanks = 1024;

}  // namespace

std::vector<base::Fault> unsupported(const Job& job) {
  const Strategy& s = job.strategy;
  const Training& t = job.training;
  const bool expert = !t.serves() && s.ep > 1 && s.overlap.expert.value_or(false);
  const bool paired = !t.serves() && s.pairs_passes();
  const bool sends_again = s.recompute.kind == Recompute::Kind::full ||
                           (s.recompute.kind == Recompute::Kind::selective && s.recompute.modules.moe);
  const bool muon = !t.serves() && t.optimizer == Optimizer::muon;
  const bool coupled = job.network.fidelity == Fidelity::coupled;
  const Simulation& run = job.simulation;
  const bool each_rank = run.unfold || !run.slow_ranks.empty();
  const Refusal refusals[] = {
      {t.mode == Mode::decode && s.cp > 1 && job.model.moe && s.ep * s.etp > 1, "strategy.cp",
       "decoding with experts and context cut over the same ranks", "write cp: 1, or ep: 1 and etp: 1"},
      {t.serves() && s.traits().training_only(), "strategy.schedule", "a schedule of training in prefill and decode",
       "write schedule: 1f1b"},
      {s.linear_cross_entropy && !t.serves() && (s.tp > 1 || s.spreads_vocab()), "strategy.linear_cross_entropy",
       "a loss in chunks over a vocabulary that ranks share",
       s.tp > 1 ? "write tp: 1, or linear_cross_entropy: false"
                : "write vocab_parallel: tensor, or linear_cross_entropy: false"},
      {muon && s.zero >= 2, "training.optimizer", "Muon under zero 2 and 3, whose shards cut its matrices,",
       "write zero: 1, or optimizer: adamw"},
      {muon && (s.lora || s.offload.updates_on_host()), "training.optimizer",
       "Muon beside adapters or with states on the host", "write optimizer: adamw"},
      {job.model.moe && job.model.parallel_block, "model.moe", "experts in a block whose branches are parallel",
       "write parallel_block: false"},
      {expert && !s.pairs_passes() && !s.traits().always_pairs, "strategy.overlap.expert",
       "a schedule that pairs no forward with the whole backward of another microbatch",
       "write schedule: 1f1b, interleaved or dualpipe, or expert: false"},
      {paired && sends_again, "strategy.overlap.expert",
       "a forward beside a backward that first sends tokens to their experts once more",
       "write recompute: none or selective without the module moe, or expert: false"},
      {t.mode == Mode::decode && job.model.moe && s.tp > 1, "strategy.tp",
       "decoding with experts over tensor-parallel ranks, which all have the same tokens",
       "write tp: 1, and spread experts by ep"},
      {paired && s.moe_dispatcher == MoeDispatcher::allgather, "strategy.overlap.expert",
       "gathering every token beside another microbatch's compute",
       "write moe_dispatcher: alltoall or deepep, or expert: false"},
      {paired && s.overlap.shared_expert, "strategy.overlap.expert",
       "an exchange of tokens beside shared experts and another microbatch's compute at once",
       "write shared_expert: false, or expert: false"},
      {paired && s.zero >= 2, "strategy.overlap.expert",
       "a forward beside a backward under zero 2 and 3, whose buckets each of them fills",
       "write zero: 1, or expert: false"},
      {paired && s.offload.activations, "strategy.overlap.expert",
       "a forward that offloads activations beside a backward that fetches them",
       "write offload: {activations: none}, or expert: false"},
      {s.zero >= 2 && !s.traits().flushes, "strategy.schedule",
       "a pipeline without a flush under zero 2 and 3, whose shards are of one version of the weights,",
       "write another schedule, or zero: 1"},
      {coupled && job.cluster.mixed(), "network.fidelity", "a fabric of flows between several kinds of node",
       "write fidelity: flow or closed_form"},
      {coupled && each_rank && job.cluster.gpus() > kMostCoupledRanks, "network.fidelity",
       "a fabric of flows of more than 1,024 ranks, each run by itself,",
       "write unfold: false and slow_ranks: [], or fidelity: flow"},
  };
  std::vector<base::Fault> faults;
  for (const Refusal& refusal : refusals) {
    if (!refusal.given) continue;
    faults.push_back({refusal.field, std::string(refusal.what) + " is not supported by this version", refusal.mend});
  }
  return faults;
}

}  // namespace spec
