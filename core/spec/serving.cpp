// core/spec/serving.cpp -- rules of prefill and decode (declared in rules.h): what cannot be served so, and what of a
// training job has no effect. SPDX-License-Identifier: Apache-2.0
#include <string>

#include "core/spec/rules.h"

namespace spec {

std::vector<base::Fault> serving_faults(const Job& job) {
  const Training& t = job.training;
  const Strategy& s = job.strategy;
  const Model& m = job.model;
  std::vector<base::Fault> faults;
  if (!t.serves() || m.is_list()) {
    if (t.context) faults.push_back({"training.context", "belongs to decoding", "write mode: decode, or leave it out"});
    return faults;
  }
  const bool decodes = t.mode == Mode::decode;
  if (t.context && !decodes) {
    faults.push_back({"training.context", "belongs to decoding; a prefill's context is its sequence",
                      "write mode: decode, or leave context out"});
  }
  if (decodes && t.context && *t.context < t.sequence) {
    faults.push_back({"training.context",
                      std::to_string(*t.context) + " tokens are fewer than the prompt has (sequence: " +
                          std::to_string(t.sequence) + "), to which every new token attends",
                      "write context: " + std::to_string(t.sequence) + " or more, or a shorter sequence"});
  }
  if (s.vpp > 1) {
    faults.push_back({"strategy.vpp", "chunks of a stage are for training; tokens pass each stage once",
                      "write vpp: 1 and leave schedule out"});
  }
  if (decodes && s.sp && s.tp > 1) {
    faults.push_back({"strategy.sp", "one token of a sequence cannot be cut over tensor-parallel ranks",
                      "write sp: false, or mode: prefill"});
  }
  if (!m.causal) {
    faults.push_back({"training.mode", "a model whose tokens see those behind them generates none",
                      "write mode: train, or choose a causal model"});
  }
  constexpr double most_bytes = 1e18;
  const double cache = 8.0 * static_cast<double>(t.cached()) * static_cast<double>(t.global_batch) * m.layers *
                       static_cast<double>(m.kv_width());
  if (cache > most_bytes) {
    faults.push_back({decodes && t.context ? "training.context" : "training.output_tokens",
                      "the KV cache passes 10^18 bytes",
                      "check context, output_tokens and global_batch for a digit too many"});
  }
  return faults;
}

std::vector<std::string> serving_warnings(const Job& job) {
  const Training& t = job.training;
  std::vector<std::string> out;
  if (!t.serves()) {
    if (t.output_tokens > 1) out.push_back("output_tokens has no effect in training");
    if (t.kv_cache_dtype) out.push_back("kv_cache_dtype has no effect in training");
    return out;
  }
  const Strategy& s = job.strategy;
  const auto idle = [&](bool given, const char* what) {
    if (given) out.push_back(std::string(what) + " has no effect without a backward");
  };
  idle(s.recompute.kind != Recompute::Kind::none, "recompute");
  idle(s.zero > 0, "zero");
  if (t.mode == Mode::decode && s.cp > 1 && s.cp_kind != CpKind::ring) {
    out.push_back("cp_kind has no effect while decoding: each rank attends to the tokens that it has cached");
  }
  idle(t.data.has_value(), "data");
  idle(t.checkpoint.has_value(), "checkpoint");
  idle(t.drops(), "dropout");
  idle(s.linear_cross_entropy, "linear_cross_entropy");
  idle(t.fp8_attention, "fp8_attention");
  idle(t.fp8_activation_inputs, "fp8_activation_inputs");
  idle(t.moments() != Dtype::fp32, "moments_dtype");
  idle(t.optimizer != Training{}.optimizer, "optimizer");
  idle(t.packing.has_value(), "packing");
  const Training& stated = job.stated ? job.stated->training : t;
  idle(stated.master_weights.has_value(), "master_weights");
  idle(stated.gradient_dtype.has_value(), "gradient_dtype");
  const Overlap& overlap = job.stated ? job.stated->strategy.overlap : s.overlap;
  idle(overlap.grad_reduce.has_value(), "overlap.grad_reduce");
  idle(overlap.param_gather.has_value(), "overlap.param_gather");
  idle(s.schedule != Strategy{}.schedule, "schedule");
  idle(s.offload_given, "offload");
  if (const std::int64_t turns = microbatches(job); t.mode == Mode::decode && turns > s.pp) {
    out.push_back(std::to_string(turns) + " microbatches decode one after another: micro_batch: " +
                  std::to_string(t.global_batch / s.data() / s.pp) + " decodes " +
                  (s.pp > 1 ? "as many as there are stages" : "them at once"));
  }
  const std::int64_t most = job.model.max_positions;
  // A prefill ends with its first token, which takes no position yet.
  if (most > 0 && t.mode == Mode::decode && t.sequence <= most && t.cached() > most) {
    out.push_back("prompt and output reach " + std::to_string(t.cached()) + " tokens, beyond the model's maximum of " +
                  std::to_string(most));
  }
  return out;
}

}  // namespace spec
