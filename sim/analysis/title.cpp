// SPDX-License-Identifier: Apache-2.0
#include "sim/analysis/title.h"

#include <optional>
#include <string>
#include <vector>

#include "core/base/text.h"
#include "core/spec/recompute_modules.h"

namespace sim {
namespace {

std::string degree(const char* axis, int size) {
  return size > 1 ? std::string(", ") + axis + ' ' + std::to_string(size) : "";
}

/// Nothing for the usual one: 1F1B, interleaved where there are several chunks a stage.
std::string schedule(const spec::Strategy& s) {
  if (s.pp == 1 || s.traits().one_f_one_b) return "";
  return ' ' + std::string(name(s.schedule));
}

std::string batch(const spec::Job& job) {
  const spec::Training& t = job.training;
  const std::string count = ", batch " + std::to_string(t.global_batch);
  if (job.model.is_list()) return count + " samples";
  const std::string by = t.micro_batch > 1 ? ", micro-batch " + std::to_string(t.micro_batch) : "";
  const std::string shape = count + " x " + std::to_string(t.sequence) + by;
  switch (t.mode) {
    case spec::Mode::prefill: return shape + ", prefill";
    case spec::Mode::decode: return shape + ", decode of " + std::to_string(t.attended());
    case spec::Mode::train: break;
  }
  return shape;
}

/// ", recompute selective [layernorm, mlp]"
std::string recompute(const spec::Recompute& r) {
  if (r.kind == spec::Recompute::Kind::none) return "";
  std::string kind = ", recompute " + std::string(name(r.kind));
  if (r.layers > 0) kind += " of " + std::to_string(r.layers) + (r.layers > 1 ? " layers" : " layer");
  if (r.kind != spec::Recompute::Kind::selective || r.modules == spec::RecomputeModules{}) return kind;
  return kind + " [" + base::joined(spec::names_of(r.modules)) + "]";
}

/// ", lora 16 on nf4"
std::string lora(const std::optional<spec::Lora>& adapters) {
  if (!adapters) return "";
  const bool usual = adapters->base == spec::Lora{}.base;
  return ", lora " + std::to_string(adapters->rank) + (usual ? "" : " on " + std::string(spec::name(adapters->base)));
}

/// ", offload optimizer, parameters to nvme"
std::string offload(const spec::Offload& o) {
  std::vector<std::string> parts;
  const auto add = [&](const char* what, spec::Offload::To to) {
    if (to == spec::Offload::To::none) return;
    parts.push_back(to == spec::Offload::To::cpu ? what : what + (" to " + std::string(spec::name(to))));
  };
  add("optimizer", o.optimizer);
  add("parameters", o.parameters);
  if (o.activations) parts.emplace_back("activations");
  return parts.empty() ? "" : ", offload " + base::joined(parts);
}

}  // namespace

std::string title(const spec::Job& job) {
  const spec::Strategy& s = job.strategy;
  const spec::Cluster& cluster = job.cluster;
  std::string text = (job.model.name.empty() ? "model" : job.model.name) + " on " + spec::nodes_text(cluster) + " (" +
                     spec::gpus_text(cluster) + "): tp " + std::to_string(s.tp) + (s.sp && s.tp > 1 ? " sp" : "") +
                     degree("cp", s.cp) + ", pp " + std::to_string(s.pp) + schedule(s);
  if (s.vpp > 1) text += " x " + std::to_string(s.vpp) + " chunks";
  if (s.spreads_vocab()) text += ", vocabulary over pp";
  text += degree("ep", s.ep) + degree("etp", s.etp) + ", dp " + std::to_string(s.data());
  if (!job.training.serves()) {
    text += ", zero " + std::to_string(s.zero);
    if (s.shard > 0) text += " in groups of " + std::to_string(s.shard);
    text += lora(s.lora) + recompute(s.recompute) + offload(s.offload);
  }
  if (job.training.precision != spec::Dtype::bf16) text += ", " + std::string(spec::name(job.training.precision));
  if (job.framework.name != spec::Strategy{}.framework) text += ", framework " + job.framework.name;
  return text + batch(job);
}

}  // namespace sim
