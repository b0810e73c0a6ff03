// core/spec/size_rules.cpp -- a digit too many, mostly (declared in rules.h).
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/spec/rules.h"

namespace spec {
namespace {

class Sizes : Rules {
 public:
  using Rules::Rules;
  std::vector<base::Fault> run() {
    size();
    return std::move(faults_);
  }

 private:
  /// Sound piece by piece and absurd together: a digit too many, mostly. In doubles, which no product here overflows;
  /// behind these rules counts of bytes stay within 64 bits and times within the engine's clock.
  void size() {
    constexpr double most_passes = 4e6, most_bytes = 1e18, longest = 100'000;
    const double layers = model_.layers + 1.0 * model_.mtp * model_.module_layers(),
                 hidden = static_cast<double>(model_.hidden);
    const double vocab = static_cast<double>(model_.vocab), sequence = static_cast<double>(t_.sequence);
    const double width = static_cast<double>(model_.q_width() + model_.kv_width()),
                 visited = model_.moe
                               ? static_cast<double>(model_.moe->top_k * model_.moe->ffn + model_.moe->shared_ffn) *
                                     s_.load_of_experts()
                               : 0,
                 up =
                     static_cast<double>(model_.up_width()) + 2 * visited +
                     (model_.moe ? static_cast<double>(model_.expert_width()) * model_.moe->top_k * s_.load_of_experts()
                                 : 0);
    const double microbatches = static_cast<double>(whole_microbatches());
    if (microbatches * s_.pp * s_.vpp > most_passes) {
      fault("training.global_batch",
            text(whole_microbatches()) + " microbatches through " + text(times(s_.pp, s_.vpp)) +
                " stages and chunks are more than are simulated",
            "write a larger micro_batch, more data parallelism or a smaller global_batch");
    }
    const AttentionKernel kernel = s_.attention_kernel.value_or(best_attention(job_));
    const bool scores = writes_scores(kernel);
    const double of_token =
        layers * (40 * hidden + 20 * width + 20 * up + (scores ? 10 * model_.heads * sequence : 0)) + 16 * vocab;
    if (of_token * sequence * static_cast<double>(t_.micro_batch) * std::max(microbatches, 1.0) / s_.cp > most_bytes) {
      fault("training.sequence", "with this batch the activations of one replica's step pass 10^18 bytes",
            "check sequence, global_batch and micro_batch for a digit too many");
    }
    const double parameters =
        layers * hidden * (2 * width + (model_.gated_mlp ? 3 : 2) * (static_cast<double>(model_.ffn) + visited)) +
        vocab * hidden;
    const double limit = static_cast<double>(std::max(model_.window, model_.attention_chunk));
    const double attended = limit > 0 ? std::min(sequence, limit) : sequence;
    const double flops = (6 * parameters + 6 * layers * static_cast<double>(model_.q_width()) * attended) * sequence *
                         static_cast<double>(t_.global_batch);
    if (flops / (cluster_.node.gpu.peak_of(t_.precision).si() * cluster_.gpus()) > longest) {
      fault("training.global_batch", "one step would take more than 100,000 s with every GPU at its peak",
            "check sequence and global_batch for a digit too many, or write more nodes");
    }
  }
};

}  // namespace

std::vector<base::Fault> size_faults(const Job& job) { return Sizes(job).run(); }

}  // namespace spec
