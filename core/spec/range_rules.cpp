// core/spec/range_rules.cpp -- each number of a Job by itself (declared in rules.h).
// SPDX-License-Identifier: Apache-2.0
#include "core/spec/rules.h"

namespace spec {
namespace {

class Ranges : Rules {
 public:
  using Rules::Rules;
  std::vector<base::Fault> run() {
    ranges();
    return std::move(faults_);
  }

 private:
  void ranges() {
    range("model.layers", model_.layers, 1, kMostLayers);
    if (!model_.is_list()) {
      range("model.hidden", model_.hidden, 1, kMostHidden);
      range("model.vocab", model_.vocab, 1, kMostVocab);
      range("training.sequence", t_.sequence, 1, kMostTokens);
    }
    range("cluster.nodes", cluster_.nodes, 1, kMostNodes);
    range("cluster.node.gpus", cluster_.node.gpus, 1, kMostGpusOfANode);
    range("training.global_batch", t_.global_batch, 1, kMostSequences);
    range("training.micro_batch", t_.micro_batch, 1, kMostSequences);
    if (const double share = t_.dropout.value_or(0); !(share >= 0 && share < 1)) {
      fault("training.dropout", "the share of dropped activations is out of range", "write a number from 0 to below 1");
    }
    range("strategy.tp", s_.tp, 1, kMostDegree);
    range("strategy.cp", s_.cp, 1, kMostDegree);
    range("strategy.pp", s_.pp, 1, kMostDegree);
    range("strategy.vpp", s_.vpp, 1, kMostDegree);
    range("strategy.ep", s_.ep, 1, kMostDegree);
    range("strategy.etp", s_.etp, 1, kMostDegree);
    range("strategy.zero", s_.zero, 0, 3);
    if (s_.dp) range("strategy.dp", *s_.dp, 1, kMostReplicas);
  }
};

}  // namespace

std::vector<base::Fault> range_faults(const Job& job) { return Ranges(job).run(); }

}  // namespace spec
