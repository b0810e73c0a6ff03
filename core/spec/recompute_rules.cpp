// core/spec/recompute_rules.cpp -- modules that are computed again (declared in rules.h).
// SPDX-License-Identifier: Apache-2.0
#include "core/spec/rules.h"

namespace spec {
namespace {

class Recomputed : Rules {
 public:
  using Rules::Rules;
  std::vector<base::Fault> run() {
    by_operators();
    const RecomputeModules& m = s_.recompute.modules;
    if (s_.recompute.kind != Recompute::Kind::selective || m == RecomputeModules{}) return std::move(faults_);
    const char* field = "strategy.recompute.modules";
    if (m.mla_up_proj && !model_.mla) {
      fault(field, "mla_up_proj: the model has no latent attention", "leave mla_up_proj out");
    }
    if ((m.moe_act || m.moe || m.shared_experts) && !model_.moe) {
      fault(field, "moe_act, moe and shared_experts: the model has no experts", "leave them out, or write mlp");
    }
    if (model_.parallel_block) {
      fault(field, "modules of a block whose branches are parallel are not supported by this version",
            "write recompute: selective or full");
    }
    if (s_.lora) {
      fault(field, "modules beside low-rank adapters are not supported by this version",
            "write recompute: selective or full");
    }
    return std::move(faults_);
  }

 private:
  void by_operators() {
    if (s_.recompute.kind != Recompute::Kind::selective_ops || !s_.lora) return;
    fault("strategy.recompute", "selective_ops with low-rank adapters is not supported by this version",
          "write recompute: selective or full");
  }
};

}  // namespace

std::vector<base::Fault> recompute_faults(const Job& job) { return Recomputed(job).run(); }

}  // namespace spec
