// core/spec/tensor_rules.cpp -- widths and tokens that tensor-parallel ranks share (declared in rules.h).
// SPDX-License-Identifier: Apache-2.0
#include "core/spec/rules.h"

namespace spec {
namespace {

class Tensor : Rules {
 public:
  using Rules::Rules;
  std::vector<base::Fault> run() {
    tensor();
    return std::move(faults_);
  }

 private:
  void tensor() {
    if (s_.tp == 1) return;
    const auto divides = [&](std::int64_t amount, const std::string& what) {
      if (amount > 0 && amount % s_.tp != 0) {
        fault("strategy.tp", text(amount) + " " + what + " do not divide by tp " + text(s_.tp),
              "choose a tp that divides " + text(amount));
      }
    };
    divides(model_.heads, "heads");
    if (model_.kv_heads > 0 && model_.heads % s_.tp == 0 && model_.kv_heads % s_.tp != 0 &&
        s_.tp % model_.kv_heads != 0) {
      fault("strategy.tp",
            text(model_.kv_heads) + " kv_heads can be neither divided nor replicated over tp " + text(s_.tp),
            "choose a tp that divides " + text(model_.kv_heads) + ", or a multiple of it");
    }
    if (!experts_everywhere()) divides(model_.ffn, "columns of the feed-forward");
    if (model_.moe) divides(model_.moe->shared_ffn, "columns of the shared experts");
    if (model_.mtp > 0) divides(model_.hidden, "columns of the multi-token projection");
    if (s_.sp) divides(t_.sequence, "tokens of a sequence (sp: true)");
  }

  bool experts_everywhere() const {
    return !model_.is_list() && model_.count_layers([](LayerParts parts) { return parts.has_dense(); }) == 0;
  }
};

}  // namespace

std::vector<base::Fault> tensor_faults(const Job& job) { return Tensor(job).run(); }

}  // namespace spec
