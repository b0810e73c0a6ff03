// core/spec/expert_rules.cpp -- experts against the ranks that they are spread and cut over (declared in rules.h).
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/spec/rules.h"

namespace spec {
namespace {

class Experts : Rules {
 public:
  using Rules::Rules;
  std::vector<base::Fault> run() {
    if (!model_.moe) {
      none_to_spread();
    } else {
      shape(*model_.moe);
      degrees(*model_.moe);
      load(*model_.moe);
      size(*model_.moe);
    }
    return std::move(faults_);
  }

 private:
  void none_to_spread() {
    if (s_.ep > 1)
      fault("strategy.ep", "the model has no experts to spread", "write ep: 1, or choose a model with moe");
    if (s_.etp > 1)
      fault("strategy.etp", "the model has no experts to cut", "write etp: 1, or choose a model with moe");
    if (s_.cuda_graphs == CudaGraphs::beside_experts)
      fault("strategy.cuda_graphs", "the model has no experts to leave out of the graphs", "write cuda_graphs: true");
  }

  void shape(const Moe& moe) {
    range("model.moe.experts", moe.experts, 1, kMostExperts);
    range("model.moe.top_k", moe.top_k, 1, moe.experts);
    range("model.moe.ffn", moe.ffn, 1, kMostFfn);
    range("model.moe.latent", moe.latent, 0, kMostHidden);
    if (moe.latent > 0 && s_.overlap.shared_expert) {
      fault("strategy.overlap.shared_expert",
            "computing shared ones beside the exchange of experts behind a projection (moe.latent) is not supported by "
            "this version",
            "write overlap.shared_expert: false, as Megatron demands with a latent size");
    }
  }

  void degrees(const Moe& moe) {
    if (s_.tp > 1 && !s_.sp && t_.mode != Mode::decode) {  // unsupported.cpp refuses that
      fault("strategy.sp", "with tp " + text(s_.tp) + " every rank would send the same tokens to the experts",
            "write sp: true, as Megatron demands for mixture of experts");
    }
    if (moe.experts % s_.ep != 0) {
      fault("strategy.ep", text(moe.experts) + " experts do not divide by ep " + text(s_.ep),
            "choose an ep that divides " + text(moe.experts));
    }
    if (moe.ffn % s_.etp != 0) {
      fault("strategy.etp", text(moe.ffn) + " columns of an expert do not divide by etp " + text(s_.etp),
            "choose an etp that divides " + text(moe.ffn));
    }
    const std::int64_t ranks = times(times(s_.tp, s_.cp), data()), folded = times(s_.ep, s_.etp);
    if (ranks > 0 && ranks % folded != 0) {
      fault(s_.ep > 1 ? "strategy.ep" : "strategy.etp",
            "ep " + text(s_.ep) + " x etp " + text(s_.etp) + " = " + text(folded) + " does not divide the " +
                text(ranks) + " ranks of a stage (tp x cp x dp)",
            "choose degrees whose product divides " + text(ranks));
    }
  }

  void load(const Moe& moe) {
    if (!s_.moe_routing.empty() && static_cast<std::int64_t>(s_.moe_routing.size()) != moe.experts) {
      fault("strategy.moe_routing",
            text(static_cast<std::int64_t>(s_.moe_routing.size())) + " counts for " + text(moe.experts) + " experts",
            "write one count of tokens for each expert");
    } else if (!s_.moe_routing.empty() && std::ranges::none_of(s_.moe_routing, [](auto n) { return n > 0; })) {
      fault("strategy.moe_routing", "routes no token", "write one count of tokens for each expert");
    }
    if (s_.moe_capacity_factor && *s_.moe_capacity_factor <= 0) {
      fault("strategy.moe_capacity_factor", "experts without capacity take no token",
            "write a number above 0, such as 1.25, or leave it out");
    }
    // Above the tokens that there are an imbalance would be no imbalance.
    if (s_.moe_imbalance > s_.ep && s_.moe_imbalance > 1) {
      fault("strategy.moe_imbalance", "the hottest of ep " + text(s_.ep) + " ranks cannot have more than all tokens",
            s_.ep == 1 ? "write 1, or leave it out: one rank has all experts"
                       : "write a number from 1 to " + text(s_.ep));
    }
  }

  void size(const Moe& moe) {
    constexpr double most_parameters = 1e16;
    const double parameters =
        3.0 * static_cast<double>(model_.expert_width()) * static_cast<double>(moe.ffn) * moe.experts;
    if (parameters * model_.layers > most_parameters) {
      fault("model.moe.experts", "the experts have more than 10^16 parameters",
            "check experts, ffn and hidden for a digit too many");
    }
  }
};

}  // namespace

std::vector<base::Fault> expert_faults(const Job& job) { return Experts(job).run(); }

}  // namespace spec
