// core/spec/layer_list_rules.cpp -- rules of jobs whose model is a list of operators (declared in rules.h): data
// parallel training alone. SPDX-License-Identifier: Apache-2.0
#include <string>

#include "core/spec/rules.h"

namespace spec {

std::vector<base::Fault> layer_list_faults(const Job& job) {
  const Strategy& s = job.strategy;
  const Training& t = job.training;
  std::vector<base::Fault> faults;
  const auto refuse = [&](bool given, const char* field, const char* what, const char* mend) {
    if (given)
      faults.push_back({field, std::string(what) + " a model that is a list of operators is not supported", mend});
  };
  refuse(t.serves(), "training.mode", "prefill and decode of", "write mode: train");
  refuse(s.tp > 1, "strategy.tp", "tensor parallelism of", "write tp: 1");
  refuse(s.cp > 1, "strategy.cp", "context parallelism of", "write cp: 1");
  refuse(s.pp > 1, "strategy.pp", "pipeline parallelism of", "write pp: 1");
  refuse(s.vpp > 1, "strategy.vpp", "pipeline chunks of", "write vpp: 1");
  refuse(s.ep > 1 || s.etp > 1, "strategy.ep", "expert parallelism of", "write ep: 1 and etp: 1");
  refuse(s.recompute.kind != Recompute::Kind::none, "strategy.recompute", "recomputation in", "write recompute: none");
  refuse(t.optimizer == Optimizer::muon, "training.optimizer", "Muon for", "write optimizer: adamw or sgd");
  refuse(s.linear_cross_entropy, "strategy.linear_cross_entropy", "a loss in chunks of",
         "write linear_cross_entropy: false");
  refuse(s.lora.has_value(), "strategy.lora", "low-rank adapters in", "leave lora out");
  refuse(s.offload_given, "strategy.offload", "offloading of", "leave offload out");
  refuse(bytes_of(t.precision) < 2, "training.precision", "training below 16 bits of", "write precision: bf16");
  refuse(t.fp8_parameters.value_or(false), "training.fp8_parameters", "weights in fp8 alone of",
         "leave fp8_parameters out");
  refuse(t.fp8_attention, "training.fp8_attention", "attention in fp8 of", "write fp8_attention: false");
  if (!faults.empty()) return faults;

  constexpr double most_bytes = 1e17, longest = 100'000, most_passes = 4e6;
  double elements = 0;
  for (const Layer& layer : job.model.list) {
    elements += static_cast<double>(layer.in_elements()) + 3 * static_cast<double>(layer.out_elements()) +
                static_cast<double>(layer.lookups) * static_cast<double>(layer.out);
  }
  const double ranks = job.cluster.gpus(), batch = static_cast<double>(t.global_batch);
  if (8 * elements * static_cast<double>(t.micro_batch) * ranks > most_bytes ||
      batch / static_cast<double>(t.micro_batch) / ranks > most_passes) {
    faults.push_back({"training.micro_batch",
                      "with this batch the activations or the microbatches are more than are simulated",
                      "check global_batch and micro_batch for a digit too many or too few"});
  }
  const double flops = 6 * batch * totals(job.model.list).multiply_adds;
  const double peak = job.cluster.node.gpu.peak_of(t.precision).si();  // 0, an unknown precision, is a fault of its own
  if (flops > longest * peak * ranks && peak > 0) {
    faults.push_back({"training.global_batch", "one step would take more than 100,000 s with every GPU at its peak",
                      "check global_batch for a digit too many, or write more nodes"});
  }
  return faults;
}

}  // namespace spec
