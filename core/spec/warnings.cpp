// core/spec/warnings.cpp -- what is told about a Job though it is no fault (declared in job.h).
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "core/spec/attention_again.h"
#include "core/spec/rules.h"

namespace spec {
namespace {

/// Keys that were given where nothing reads them.
std::vector<std::string> idle_keys(const Job& job) {
  const Training& t = job.training;
  const Strategy& s = job.strategy;
  const Overlap& said = job.stated ? job.stated->strategy.overlap : s.overlap;  // before frameworks fill theirs in
  std::vector<std::string> out;
  const auto idle = [&](bool given, const char* key, const std::string& where) {
    if (given) out.push_back(std::string(key) + " has no effect " + where);
  };
  const std::string precision = "with precision " + std::string(name(t.precision));
  idle(t.fp8_recipe && t.precision != Dtype::fp8, "fp8_recipe", precision);
  idle(t.wide_layers.first + t.wide_layers.last > 0 && bytes_of(t.precision) >= 2, "wide_layers", precision);
  idle(s.tp == 1 && s.sp, "sp", "with tp 1");
  idle(s.tp == 1 && said.tp.value_or(TpOverlap::none) != TpOverlap::none, "overlap.tp", "with tp 1");
  idle(s.pp == 1 && said.p2p.has_value(), "overlap.p2p", "with pp 1");
  idle(s.cp == 1 && s.cp_kind != CpKind::ring, "cp_kind", "with cp 1");
  idle(s.cp == 1 && s.cp_balance != CpBalance::zigzag, "cp_balance", "with cp 1");
  idle(s.pp == 1 && s.embedding_in_split, "embedding_in_split", "with pp 1");
  idle(s.vocab_barriers != Strategy{}.vocab_barriers && !s.spreads_vocab(), "vocab_barriers",
       "without vocab_parallel: pipeline");
  if (s.tp > 1 && !s.sp && s.overlap.tp == TpOverlap::userbuffers) {
    out.emplace_back("overlap.tp: userbuffers without sp: Megatron refuses to start so");
  }
  const bool megatrons = job.framework.name == "megatron";  // moe_token_dispatcher_type in its TransformerConfig
  if (megatrons && job.model.moe && s.overlap.shared_expert && s.moe_dispatcher != MoeDispatcher::alltoall) {
    out.emplace_back("overlap.shared_expert with moe_dispatcher " + std::string(name(s.moe_dispatcher)) +
                     ": Megatron refuses to start so, but with alltoall");
  }
  if (megatrons && job.model.moe && s.pads_experts() && s.moe_dispatcher == MoeDispatcher::deepep) {
    out.emplace_back("moe_pad_to_capacity with moe_dispatcher deepep: Megatron refuses to start so");
  }
  if (!job.model.moe) {
    const char* where = "on a model without experts";
    idle(s.moe_capacity_factor.has_value(), "moe_capacity_factor", where);
    idle(s.moe_pad_to_capacity.has_value(), "moe_pad_to_capacity", where);
    idle(s.moe_imbalance > 1, "moe_imbalance", where);
    idle(s.moe_round_robin || !s.moe_routing.empty(), "moe_routing", where);
    idle(s.moe_dispatcher != MoeDispatcher::alltoall, "moe_dispatcher", where);
    idle(s.overlap.expert.value_or(false) && !s.traits().always_pairs, "overlap.expert", where);
    idle(s.overlap.shared_expert, "overlap.shared_expert", where);
  }
  idle(job.model.moe && s.moe_pad_to_capacity && !s.moe_capacity_factor, "moe_pad_to_capacity",
       "without moe_capacity_factor");
  const RecomputeModules& again = s.recompute.modules;
  if (job.model.moe && job.model.moe->shared_ffn == 0) {
    idle(s.overlap.shared_expert, "overlap.shared_expert", "on a model without shared experts");
    idle(again.shared_experts, "recompute of shared_experts", "on a model without them");
  }
  idle(again.mlp && job.model.moe && job.model.count_layers([](LayerParts parts) { return parts.has_dense(); }) == 0,
       "recompute of mlp", "on a model whose layers all have experts");
  idle(job.model.moe && s.ep == 1 && said.expert.value_or(false) && !s.traits().always_pairs, "overlap.expert",
       "with ep 1");
  idle(s.zero == 0 && said.param_gather.value_or(false), "overlap.param_gather", "with zero 0");
  if (job.model.is_list()) {
    const char* where = "on a model that is a list of operators";
    idle(t.sequence > 0, "sequence", where);
    idle(t.packing.has_value(), "packing", where);
    idle(t.drops(), "dropout", where);
  }
  return out;
}

/// Parts that no vendor puts together.
std::vector<std::string> odd_parts(const Job& job) {
  std::vector<std::string> out;
  for (int kind = 0; kind < job.cluster.kinds(); ++kind) {
    const Node& node = job.cluster.node_of(kind);
    if (!traits_of(node.gpu.generation).amd || node.nvlink.via != Switch::nvswitch) continue;
    out.push_back("cluster.node: " + node.gpu.name +
                  " is AMD's and NVSwitch NVIDIA's: what is predicted of links between "
                  "them is measured on other GPUs; take a node of the GPU's own, such as mi300x-x8");
  }
  return out;
}

/// What costs time and buys nothing.
std::vector<std::string> in_vain(const Job& job) {
  const Strategy& s = job.strategy;
  std::vector<std::string> out;
  const auto kernel = s.attention_kernel.value_or(AttentionKernel::unfused);
  const bool scores_alone = s.recompute.kind == Recompute::Kind::selective && s.recompute.modules == RecomputeModules{};
  if (scores_alone && !frees_when_again(kernel) && !job.training.serves()) {
    out.push_back("recompute: selective frees no memory under " + std::string(name(kernel)) +
                  ", which writes no scores: none is faster");
  }
  if (!job.training.serves() && !attention_is_usual(kernel, job)) {
    out.push_back("attention_kernel: " + std::string(name(kernel)) + " takes no values narrower than keys, so that " +
                  job.framework.name + " runs another kernel; predicted is one whose values are padded");
  }
  if (job.model.moe && s.moe_capacity_factor) {
    const double most = static_cast<double>(job.model.moe->experts) / static_cast<double>(job.model.moe->top_k);
    if (*s.moe_capacity_factor > most) {
      out.push_back("moe_capacity_factor above experts / top_k, where an expert has room for every token, " +
                    std::string(s.pads_experts() ? "only pads" : "drops none"));
    }
  }
  return out;
}

/// Of domains that span nodes: the last one is smaller than the others, so that it has fewer cards for what crosses.
std::vector<std::string> uneven_domains(const Cluster& cluster) {
  const Node& node = cluster.node;
  if (cluster.mixed() || node.gpus < 1 || node.nvlink.domain <= node.gpus) return {};
  const int whole = node.nvlink.domain / node.gpus, last = cluster.nodes % whole;
  if (cluster.nodes <= whole || last == 0) return {};
  return {text(cluster.nodes) + " nodes fill NVLink domains of " + text(whole) + " unevenly: the last has " +
          text(last) + ", whose cards set the pace of what crosses"};
}

}  // namespace

std::vector<std::string> warnings(const Job& job) {
  std::vector<std::string> out;
  const Node& node = job.cluster.node;
  const Model& model = job.model;
  const std::string sequence =
      "a sequence of " + text(job.training.sequence) + " tokens is beyond the model's maximum of ";
  if (model.max_positions > 0 && job.training.sequence > model.max_positions) {
    out.push_back(sequence + text(model.max_positions));
  }
  if (job.strategy.tp > node.island()) {
    out.push_back("tp " + text(job.strategy.tp) + " reaches across nodes of " + text(node.island()) + " GPUs");
  }
  if (node.calibration.name.empty() || node.calibration.name.starts_with("defaults-")) {
    out.push_back("no calibration was fitted to " + node.gpu.name +
                  ": its kernels are priced as usual for its generation");
  }
  if (const auto& fitted = node.calibration.generation; fitted && *fitted != node.gpu.generation) {
    out.push_back("the curves of calibration " + node.calibration.name + " were fitted to " + node.calibration.gpu +
                  " (" + std::string(name(*fitted)) + "): kernels of " + node.gpu.name + " (" +
                  std::string(name(node.gpu.generation)) + ") are others");
  }
  const Simulation& run = job.simulation;
  if (run.jitter > 0 && run.seed != Simulation{}.seed && !run.unfold) {
    out.emplace_back("simulation.seed draws kernels with unfold: true alone; without it jitter is a mean over draws");
  }
  for (std::string& line : idle_keys(job)) out.push_back(std::move(line));
  for (std::string& line : odd_parts(job)) out.push_back(std::move(line));
  for (std::string& line : in_vain(job)) out.push_back(std::move(line));
  for (std::string& line : port_warnings(job.cluster)) out.push_back(std::move(line));
  for (std::string& line : uneven_domains(job.cluster)) out.push_back(std::move(line));
  for (std::string& line : serving_warnings(job)) out.push_back(std::move(line));
  return out;
}

}  // namespace spec
