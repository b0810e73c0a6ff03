// tests/property/options.h -- what a Job can say, as lines laid over a base job as --set does: every key of training,
// strategy, network and simulation with a handful of values. An option that means something only beside others brings
// them along. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/config/catalogue.h"
#include "core/spec/attention_kernel.h"
#include "core/spec/schedule.h"

namespace options {

using Settings = std::vector<std::pair<std::string, std::string>>;  // path, value as YAML

struct Option {
  std::string key;  // options of one key are never combined with each other
  Settings settings;
};

inline std::string text(const Option& option) {
  std::string out;
  for (const auto& [path, value] : option.settings) out += " --set '" + path + "=" + value + "'";
  return out;
}

/// Short names of sections, so that the list below can be read.
inline std::string path_of(const std::string& key) {
  const std::string section = key.substr(0, key.find(':'));
  const std::string rest = key.substr(key.find(':') + 1);
  return (section == "s"   ? "strategy."
          : section == "t" ? "training."
          : section == "c" ? "cluster."
          : section == "n" ? "network."
          : section == "i" ? "simulation."
                           : "") +
         rest;
}

class List {
 public:
  /// Values of one key alone.
  void key(const std::string& key, const std::vector<std::string>& values) {
    for (const std::string& value : values) all.push_back({key, {{path_of(key), value}}});
  }
  /// Several keys at once; the first names the option.
  void set(const Settings& given) {
    Settings settings;
    for (const auto& [key, value] : given) settings.emplace_back(path_of(key), value);
    all.push_back({given.front().first, std::move(settings)});
  }
  std::vector<Option> all;
};

inline void add_training(List& list) {
  list.key("t:mode", {"prefill", "decode"});
  list.set({{"t:mode", "decode"}, {"t:context", "300"}, {"t:output_tokens", "64"}, {"t:kv_cache_dtype", "fp8"}});
  list.key("t:sequence", {"96", "250"});
  list.key("t:global_batch", {"16", "48", "64"});
  list.key("t:micro_batch", {"2", "4"});
  list.key("t:precision", {"fp32", "tf32", "fp16", "fp8", "mxfp8", "nvfp4"});
  for (const char* recipe : {"tensorwise", "rowwise", "blockwise", "delayed"})
    list.set({{"t:fp8_recipe", recipe}, {"t:precision", "fp8"}});
  list.set({{"t:wide_layers", "{first: 1, last: 2}"}, {"t:precision", "mxfp8"}});
  list.set({{"t:fp8_parameters", "true"}, {"t:precision", "fp8"}, {"t:fp8_recipe", "delayed"}});
  list.set({{"t:fp8_parameters", "true"}, {"t:precision", "mxfp8"}});
  list.set({{"t:fp8_parameters", "true"}, {"t:precision", "nvfp4"}});
  list.set({{"t:fp8_parameters", "true"}, {"t:precision", "fp8"}, {"t:fp8_recipe", "tensorwise"}});
  list.key("t:optimizer", {"adamw8bit", "sgd", "muon"});
  list.set({{"t:autocast", "true"}, {"s:framework", "torch"}});
  list.key("t:autocast", {"false"});
  list.key("t:master_weights", {"true", "false"});
  list.key("t:gradient_dtype", {"fp32", "bf16", "fp16"});
  list.key("t:moments_dtype", {"bf16", "fp16"});
  for (const char* precision : {"fp8", "mxfp8", "nvfp4"})
    list.set({{"t:fp8_attention", "true"}, {"t:precision", precision}});
  list.key("t:fp8_activation_inputs", {"true"});
  list.key("t:dropout", {"0.1"});
  list.key("t:packing", {"{mean: 64, deviation: 32}", "{lengths: [128, 64, 64]}"});
  list.key("t:data",
           {"{bytes_per_token: 4B, bandwidth: 2GB/s}", "{bytes_per_sample: 1MB, bandwidth: 1GB/s, prefetch: false}"});
  list.key("t:checkpoint", {"{every: 100}", "{every: 10, to: shared, bandwidth: 5GB/s, async: true}"});
}

inline void add_degrees(List& list) {
  list.key("s:tp", {"2", "4"});
  list.set({{"s:sp", "true"}, {"s:tp", "2"}});
  list.set({{"s:tp", "8"}, {"s:sp", "true"}});
  list.key("s:cp", {"2"});
  for (const char* kind : {"ring", "all_gather", "ulysses"}) list.set({{"s:cp_kind", kind}, {"s:cp", "2"}});
  list.set({{"s:cp_kind", "ulysses"}, {"s:cp", "4"}});
  list.set({{"s:cp_kind", "ulysses"}, {"s:cp", "8"}, {"t:mode", "prefill"}});
  list.set({{"s:cp_balance", "none"}, {"s:cp", "4"}});
  list.key("s:dp", {"8", "16"});
  list.set({{"s:dp", "1"}, {"s:tp", "4"}, {"s:pp", "4"}});
  list.key("s:zero", {"1", "2", "3"});
  list.set({{"s:shard", "2"}, {"s:zero", "3"}});
  list.set({{"s:shard", "4"}, {"s:zero", "1"}});
  list.set({{"s:shard", "8"}, {"s:zero", "2"}});
  for (const char* map : {"{prefetch: 0}", "{unit: model, reshard: false}",
                          "{unit: 3, prefetch: 3, limit_all_gathers: 2}", "{sync_each_microbatch: false}"})
    list.set({{"s:fsdp", map}, {"s:zero", "3"}});
  list.key("s:ep", {"2", "8"});
  list.set({{"s:etp", "2"}, {"s:ep", "2"}});
  list.key("s:moe_capacity_factor", {"0.5", "1.25"});
  list.set({{"s:moe_capacity_factor", "1.25"}, {"s:moe_pad_to_capacity", "false"}});
  list.key("s:moe_routing", {"round_robin"});
  list.set({{"s:moe_imbalance", "1.5"}, {"s:ep", "4"}});
  list.set({{"s:moe_routing", "[9, 3, 1, 1, 0, 2, 7, 8]"}, {"s:ep", "4"}});
  for (const char* way : {"alltoall", "allgather", "deepep"}) list.set({{"s:moe_dispatcher", way}, {"s:ep", "8"}});
  list.key("s:rank_order", {"tp-cp-pp-dp", "dp-cp-tp-pp", "pp-tp-dp-cp", "tp-ep-cp-dp-pp"});
}

inline void add_pipeline(List& list) {
  list.key("s:pp", {"2", "4"});
  for (const std::string_view schedule : spec::kNamesOf<spec::Schedule>) {
    Settings settings{{"s:schedule", std::string(schedule)}, {"s:pp", "2"}};
    if (spec::traits_of(*spec::named<spec::Schedule>(schedule)).takes_vpp) settings.emplace_back("s:vpp", "2");
    list.set(settings);
  }
  list.set({{"s:schedule", "zb-v"}, {"s:pp", "4"}});
  list.key("s:schedule", {"interleaved", "zb-h1", "dualpipe"});
  list.set({{"s:vpp", "2"}, {"s:schedule", "interleaved"}, {"s:pp", "4"}});
  list.set({{"s:stage_layers", "[5, 3]"}, {"s:pp", "2"}});
  list.set({{"s:stage_layers", "[0, 4, 4, 0]"}, {"s:pp", "4"}});
  list.set({{"s:embedding_in_split", "true"}, {"s:pp", "2"}});
  list.set({{"s:vocab_parallel", "pipeline"}, {"s:pp", "2"}});
  list.set({{"s:vocab_parallel", "pipeline"}, {"s:vocab_barriers", "1"}, {"s:pp", "4"}});
  list.set({{"s:optimizer_barrier", "true"}, {"s:pp", "2"}});
  list.set({{"s:optimizer_barrier", "false"}, {"s:pp", "2"}});
}

inline void add_kernels(List& list) {
  list.key("s:recompute",
           {"selective", "selective_ops", "full", "{kind: full, layers: 1}",
            "{kind: selective, modules: [layernorm, mlp]}", "{kind: selective, modules: [core_attn, moe_act]}",
            "{kind: selective, modules: [moe]}", "{kind: selective, modules: [mla_up_proj, shared_experts]}"});
  for (const std::string_view kernel : spec::kNamesOf<spec::AttentionKernel>)
    list.key("s:attention_kernel", {std::string(kernel)});
  list.key("s:linear_cross_entropy", {"true"});
  list.key("s:fused_kernels", {"true", "false", "{norm: false, rope: false, grad_accumulation: true}"});
  list.set({{"s:fused_kernels", "{experts: true}"}, {"t:precision", "mxfp8"}});
  list.key("s:compile", {"true"});
  list.key("s:cuda_graphs", {"true"});
  for (const char* name : {"grad_reduce", "param_gather", "p2p", "shared_expert"}) {
    list.key(std::string("s:overlap.") + name, {"true", "false"});
  }
  list.set({{"s:overlap.expert", "true"}, {"s:ep", "2"}});
  list.set({{"s:overlap.expert", "true"}, {"s:ep", "2"}, {"s:schedule", "interleaved"}, {"s:pp", "2"}, {"s:vpp", "2"}});
  for (const char* way : {"none", "wgrad", "chunked", "userbuffers"})
    list.set({{"s:overlap.tp", way}, {"s:tp", "2"}, {"s:sp", "true"}});
  list.set({{"s:overlap.tp", "userbuffers"}, {"s:tp", "4"}, {"s:sp", "false"}});
  list.key("s:framework", config::Catalogue::find().names(config::Catalogue::Kind::framework));
  for (const char* base : {"bf16", "int8", "nf4"})
    list.set({{"s:lora", std::string("{rank: 8, targets: [qkv, proj, ffn], base: ") + base + "}"}});
  list.key("s:lora", {"{rank: 4, targets: [qkv]}"});
  list.key("s:offload", {"{optimizer: cpu}", "{activations: cpu}"});
  list.set({{"s:offload", "{optimizer: cpu}"}, {"s:zero", "2"}});
  list.set({{"s:offload", "{optimizer: cpu, parameters: cpu}"}, {"s:zero", "3"}, {"s:framework", "torch"}});
  for (const char* where : {"{optimizer: cpu, parameters: nvme}", "{optimizer: nvme, parameters: nvme}"})
    list.set({{"s:offload", where}, {"s:zero", "3"}, {"s:framework", "deepspeed"}});
}

inline void add_simulation(List& list) {
  list.key("n:algorithm", {"ring", "tree", "nvls", "nvls_tree", "pat", "direct", "hierarchical"});
  list.set({{"n:algorithm", "collnet"}, {"c:fabric", "{base: flat, in_switch_reduction: true}"}});
  list.key("n:fidelity", {"flow", "coupled"});
  list.key("i:unfold", {"true"});
  list.key("i:jitter", {"0.1"});
  list.set({{"i:slow_ranks", "[{rank: 3, factor: 1.5}]"}});
  list.set({{"i:slow_links", "[{node: 1, factor: 2}]"}});
  list.key("i:slow_links", {"[{node: 0, card: 1, factor: 3}]"});
  list.key("i:dead_links", {"[{node: 1, card: 0}]"});
  list.key("i:lost_nics", {"[{node: 0}]", "[{node: 1, count: 3}]"});
  list.key("c:nodes", {"1"});
  list.set({{"c:nodes", "3"}, {"t:global_batch", "48"}});
  list.key("c:node", {"wide-8", "rack-4", "pcie-8", "old-8"});
  list.set({{"c:node", "[{node: wide-8, nodes: 1}, {node: box-8, nodes: 1}]"}, {"c:nodes", ""}});
  const std::string thin = "{base: flat, kind: fat_tree, leaf_nodes: 1, oversubscription: 4}";
  list.key("c:fabric", {"slow", thin, "{base: flat, leaf_nodes: 1, upper_tiers: [{nodes: 2, oversubscription: 2}]}"});
  for (const char* fidelity : {"flow", "coupled"}) {
    list.set({{"n:fidelity", fidelity}, {"c:fabric", thin}});
    list.set({{"i:slow_links", "[{leaf: 1, factor: 2}]"}, {"n:fidelity", fidelity}, {"c:fabric", thin}});
    list.set({{"i:dead_links", "[{leaf: 0, uplinks: 1}]"}, {"n:fidelity", fidelity}, {"c:fabric", thin}});
  }
  const std::string hashed = "{base: flat, kind: fat_tree, leaf_nodes: 1, nodes: 8, routing: ecmp}";
  list.set({{"c:fabric", hashed}, {"n:fidelity", "flow"}});
  list.set({{"c:hosts", "[5, 2]"}, {"c:fabric", hashed}, {"n:fidelity", "flow"}});
  list.set({{"c:hosts", "[5, 2]"}, {"c:fabric", hashed}, {"n:fidelity", "coupled"}});
  list.key("model", {"gqa", "gpt", "experts", "latent", "windowed", "encoder", "convolutions"});
}

inline std::vector<Option> all() {
  List list;
  add_training(list);
  add_degrees(list);
  add_pipeline(list);
  add_kernels(list);
  add_simulation(list);
  return std::move(list.all);
}

}  // namespace options
