// SPDX-License-Identifier: Apache-2.0
#include "core/config/strategy_reader.h"

#include <algorithm>
#include <array>

#include "core/base/text.h"
#include "core/config/framework_reader.h"
#include "core/config/other_key_names.h"
#include "core/config/routing_reader.h"
#include "core/spec/ranges.h"
#include "core/spec/recompute_modules.h"

namespace config {
namespace {

/// A number, or `dropless`.
void read_capacity(MapReader& map, spec::Strategy& s) {
  const Value* value = map.child("moe_capacity_factor");
  double capacity = 0;
  if (value && value->text != "dropless" && map.read("moe_capacity_factor", capacity, 0, 1000)) {
    s.moe_capacity_factor = capacity;
  }
}

void read_degrees(MapReader& map, spec::Strategy& s) {
  map.read("tp", s.tp, 1, spec::kMostDegree);
  s.sp_given = map.read("sp", s.sp);
  map.read("cp", s.cp, 1, spec::kMostDegree);
  map.read("cp_kind", s.cp_kind);
  map.read("cp_balance", s.cp_balance);
  int dp = 0;
  if (map.read("dp", dp, 1, spec::kMostReplicas)) s.dp = dp;
  map.read("zero", s.zero, 0, 3);
  map.read("shard", s.shard, 0, spec::kMostDegree);
  map.read("ep", s.ep, 1, spec::kMostDegree);
  s.etp_given = map.read("etp", s.etp, 1, spec::kMostDegree);
  read_capacity(map, s);
  bool pads = false;
  if (map.read("moe_pad_to_capacity", pads)) s.moe_pad_to_capacity = pads;
  s.moe_imbalance_given = map.read("moe_imbalance", s.moe_imbalance, 1, 1'000'000);
  s.moe_dispatcher_given = map.read("moe_dispatcher", s.moe_dispatcher);
  read_routing(map, "moe_routing", s.moe_routing, s.moe_round_robin);
  if ((s.moe_round_robin || !s.moe_routing.empty()) && map.has("moe_imbalance")) {
    map.fault("moe_imbalance", "is told by moe_routing as well", "leave one of them out");
  }
  map.read("rank_order", s.rank_order);
}

void read_pipeline(MapReader& map, spec::Strategy& s) {
  map.read("pp", s.pp, 1, spec::kMostDegree);
  map.read("schedule", s.schedule);
  map.read("vpp", s.vpp, 1, spec::kMostDegree);
  map.read("stage_layers", s.stage_layers, 0, spec::kMostDegree);
  map.read("embedding_in_split", s.embedding_in_split);
  map.read("vocab_parallel", s.vocab_parallel);
  map.read("vocab_barriers", s.vocab_barriers, 1, 2);
  bool barrier = true;
  if (map.read("optimizer_barrier", barrier)) s.optimizer_barrier = barrier;
}

void read_modules(MapReader& map, spec::Recompute& recompute, Faults& faults) {
  const Value* list = map.child("modules");
  if (!list) return;
  if (recompute.kind != spec::Recompute::Kind::selective) {
    return map.fault("modules", "belongs to kind: selective alone", "write kind: selective, or leave modules out");
  }
  if (list->kind != Value::Kind::list || list->items.empty()) {
    return map.fault("modules", "is not a list of modules", "write modules: [core_attn, layernorm], for example");
  }
  recompute.modules = {.core_attn = false};
  for (const Value& item : list->items) {
    const auto known = std::find_if(spec::kRecomputeModules.begin(), spec::kRecomputeModules.end(),
                                    [&](auto& m) { return m.first == item.text; });
    if (known == spec::kRecomputeModules.end()) {
      faults.push_back({map.path_of("modules"), base::quoted(item.text) + " is no module that can be computed again",
                        "choose among core_attn, layernorm, mla_up_proj, moe_act, mlp, moe and shared_experts",
                        item.where});
    } else {
      recompute.modules.*known->second = true;
    }
  }
}

void read_recompute(MapReader& map, spec::Recompute& recompute, Faults& faults) {
  using K = spec::Recompute::Kind;
  const Value* value = map.child("recompute");
  if (!value) return;
  if (value->kind != Value::Kind::map) {
    map.read("recompute", recompute.kind);
    return;
  }
  MapReader part(*value, map.path_of("recompute"), faults);
  part.require("kind", recompute.kind);
  if (part.read("layers", recompute.layers, 1, spec::kMostLayers) && recompute.kind != K::full) {
    part.fault("layers", "belongs to kind: full alone", "write kind: full, or leave layers out");
  }
  read_modules(part, recompute, faults);
  part.finish();
}

void read_kernels(MapReader& map, spec::Strategy& s) {
  map.read("attention_kernel", s.attention_kernel);
  map.part("fused_kernels", s.fused_kernels, read_fused_kernels);
  map.read("linear_cross_entropy", s.linear_cross_entropy);
  s.compile_given = map.read("compile", s.compile);
  map.read("launch_blocking", s.launch_blocking);
  map.read("cuda_graphs", s.cuda_graphs);
  map.part("overlap", s.overlap, read_overlap);
}

void read_fsdp(MapReader& map, spec::Strategy& s, Faults& faults) {
  const Value* value = map.child("fsdp");
  if (!value) return;
  s.fsdp_given = true;
  MapReader part(*value, map.path_of("fsdp"), faults, "zero: 3 for FSDP, or fsdp: {unit: block, prefetch: 1}");
  if (const Value* unit = part.child("unit")) {
    if (unit->text == "block") {
      s.fsdp.unit = 1;
    } else if (unit->text == "model") {
      s.fsdp.unit = 0;
    } else if (unit->text.find_first_not_of("0123456789") != std::string::npos) {
      part.fault("unit", base::quoted(unit->text) + " is no unit of parameters",
                 "write block, model, or a number of blocks");
    } else {
      part.read("unit", s.fsdp.unit, 1, spec::kMostDegree);
    }
  }
  part.read("prefetch", s.fsdp.prefetch, 0, 8);
  part.read("limit_all_gathers", s.fsdp.limit_all_gathers, 1, 9);
  s.reshard_given = part.read("reshard", s.fsdp.reshard);
  s.sync_given = part.read("sync_each_microbatch", s.fsdp.sync_each_microbatch);
  part.finish();
}

void read_offload(MapReader& map, spec::Strategy& s, Faults& faults) {
  using To = spec::Offload::To;
  const Value* value = map.child_or_none("offload");
  if (!value) return;
  s.offload_given = true;
  MapReader part(*value, map.path_of("offload"), faults,
                 "offload: {optimizer: cpu, parameters: cpu, activations: cpu}, or some of them");
  part.read("optimizer", s.offload.optimizer);
  part.read("parameters", s.offload.parameters);
  To activations = To::none;
  part.read("activations", activations, {{"none", To::none}, {"cpu", To::cpu}});
  s.offload.activations = activations == To::cpu;
  part.finish();
}

using LoraTarget = std::pair<std::string_view, bool spec::Lora::*>;

void read_lora(MapReader& map, spec::Strategy& s, Faults& faults) {
  const Value* value = map.child_or_none("lora");
  if (!value) return;
  spec::Lora lora;
  MapReader part(*value, map.path_of("lora"), faults, "lora: {rank: 16, targets: [qkv, proj, ffn]}");
  part.require("rank", lora.rank, 1, 65'536);
  part.read("base", lora.base);
  part.read("dropout", lora.dropout, 0.0, 0.99);
  const Value* targets = part.child("targets");
  if (!targets || targets->kind != Value::Kind::list || targets->items.empty()) {
    part.fault("targets", targets ? "is not a list of layers" : "is missing",
               "write targets: [qkv, proj, ffn], or some of them");
  } else {
    for (const Value& target : targets->items) {
      const auto* known = std::ranges::find(spec::kLoraTargets, target.text, &LoraTarget::first);
      if (known == std::end(spec::kLoraTargets)) {
        part.fault("targets", base::quoted(target.text) + " is no layer with adapters",
                   "choose among qkv, proj and ffn");
      } else {
        lora.*known->second = true;
      }
    }
  }
  part.finish();
  s.lora = lora;
}

}  // namespace

spec::Strategy read_strategy(const Value& value, Faults& faults) {
  spec::Strategy s;
  MapReader map(value, "strategy", faults, "strategy: {tp: 8, pp: 2}, for example");
  read_degrees(map, s);
  read_pipeline(map, s);
  read_recompute(map, s.recompute, faults);
  read_kernels(map, s);
  read_fsdp(map, s, faults);
  read_offload(map, s, faults);
  read_lora(map, s, faults);
  map.ignore("framework");
  map.finish(job_key_elsewhere_called);
  return s;
}

}  // namespace config
