// core/spec/degree_rules.cpp -- degrees against ranks, batch against replicas (declared in rules.h).
// SPDX-License-Identifier: Apache-2.0
#include "core/spec/rules.h"

namespace spec {
namespace {

class Degrees : Rules {
 public:
  using Rules::Rules;
  std::vector<base::Fault> run() {
    degrees();
    batch();
    return std::move(faults_);
  }

 private:
  void degrees() {
    const std::int64_t ranks = cluster_.gpus();
    const std::int64_t others = times(times(s_.tp, s_.cp), s_.pp);
    const std::string product = "tp " + text(s_.tp) + " x cp " + text(s_.cp) + " x pp " + text(s_.pp);
    if (ranks % others != 0) {
      const char* field = s_.tp == 1 && s_.pp > 1   ? "strategy.pp"
                          : s_.tp == 1 && s_.cp > 1 ? "strategy.cp"
                                                    : "strategy.tp";
      fault(field, product + " = " + text(others) + " does not divide the cluster's " + gpus_text(cluster_),
            "choose degrees whose product divides " + text(ranks) + ", or change cluster.nodes");
    } else if (s_.dp && times(others, *s_.dp) != ranks) {
      fault("strategy.dp",
            product + " x dp " + text(*s_.dp) + " = " + text(times(others, *s_.dp)) + " ranks, but the cluster has " +
                gpus_text(cluster_),
            "write dp: " + text(ranks / others) + ", or leave dp out");
    }
  }

  void batch() {
    const std::int64_t dp = data();
    if (dp == 0) return;  // told by degrees()
    const std::int64_t one = times(t_.micro_batch, dp);
    if (t_.global_batch % one == 0) return;
    const std::int64_t below = t_.global_batch / one * one;
    fault("training.global_batch",
          text(t_.global_batch) + " sequences do not divide by micro_batch " + text(t_.micro_batch) + " x dp " +
              text(dp) + " = " + text(one),
          "write " + (below > 0 ? text(below) + " or " : "") + text(below + one) + ", or another micro_batch");
  }
};

}  // namespace

std::vector<base::Fault> degree_faults(const Job& job) { return Degrees(job).run(); }

}  // namespace spec
