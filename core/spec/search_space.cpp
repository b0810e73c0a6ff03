// SPDX-License-Identifier: Apache-2.0
#include "core/spec/search_space.h"

#include "core/base/text.h"
#include "core/spec/recompute_modules.h"

namespace spec {
namespace {

constexpr std::array<std::string_view, 4> kLayerCuts{"listed", "even", "by_work", "light_front"};  // from -1 on

constexpr SearchValue kKinds = kNamesOf<Recompute::Kind>.size();
constexpr SearchValue kModuleSets = 1 << kRecomputeModules.size();
// recompute: kind + kKinds x (modules + kModuleSets x layers)
constexpr SearchValue kPlaced =
    kNamesOf<Offload::To>.size();  // offload: optimizer + kPlaced x (parameters + kPlaced x activations)

/// A bit for each module; 0: the attention core alone, so that a kind by itself is its own number.
SearchValue module_set(const RecomputeModules& modules) {
  SearchValue set = 0;
  for (std::size_t i = 0; i < kRecomputeModules.size(); ++i) {
    if (modules.*kRecomputeModules[i].second) set |= 1 << i;
  }
  return modules == RecomputeModules{} ? 0 : set;
}

RecomputeModules modules_of(SearchValue set) {
  if (set == 0) return {};
  RecomputeModules out;
  for (std::size_t i = 0; i < kRecomputeModules.size(); ++i) out.*kRecomputeModules[i].second = (set >> i & 1) != 0;
  return out;
}

Recompute recompute_of(SearchValue value) {
  return {static_cast<Recompute::Kind>(value % kKinds), value / kKinds / kModuleSets,
          modules_of(value / kKinds % kModuleSets)};
}

Offload offload_of(SearchValue value) {
  return {static_cast<Offload::To>(value % kPlaced), static_cast<Offload::To>(value / kPlaced % kPlaced),
          value / kPlaced / kPlaced != 0};
}

template <class E>
SearchValue number(E value) {
  return static_cast<SearchValue>(value);
}

std::string recompute_text(SearchValue value) {
  const Recompute r = recompute_of(value);
  const std::string kind(name(r.kind));
  if (r.layers > 0) return "{kind: " + kind + ", layers: " + std::to_string(r.layers) + "}";
  if (r.modules == RecomputeModules{}) return kind;
  return "{kind: " + kind + ", modules: [" + base::joined(names_of(r.modules)) + "]}";
}

std::string offload_text(SearchValue value) {
  const Offload o = offload_of(value);
  if (!o.any()) return "none";
  return "{optimizer: " + std::string(name(o.optimizer)) + ", parameters: " + std::string(name(o.parameters)) +
         ", activations: " + (o.activations ? "cpu" : "none") + "}";
}

}  // namespace

std::string path_of(SearchKey key) {
  return (key == SearchKey::micro_batch ? "training." : "strategy.") + std::string(name(key));
}

SearchValue value_of(const Recompute& recompute) {
  const bool selective = recompute.kind == Recompute::Kind::selective;
  return static_cast<SearchValue>(recompute.kind) +
         kKinds * ((selective ? module_set(recompute.modules) : 0) + kModuleSets * recompute.layers);
}

SearchValue value_of(SearchKey key, const Job& job) {
  const Strategy& s = job.strategy;
  switch (key) {
    case SearchKey::tp: return s.tp;
    case SearchKey::sp: return s.sp;
    case SearchKey::cp: return s.cp;
    case SearchKey::cp_kind: return number(s.cp_kind);
    case SearchKey::pp: return s.pp;
    case SearchKey::schedule: return number(s.schedule);
    case SearchKey::vpp: return s.vpp;
    case SearchKey::embedding_in_split: return s.embedding_in_split;
    case SearchKey::stage_layers: return s.stage_layers.empty() ? kEvenLayers : kListedLayers;
    case SearchKey::dp: return s.data();
    case SearchKey::zero: return s.zero;
    case SearchKey::shard: return s.shard;
    case SearchKey::ep: return s.ep;
    case SearchKey::etp: return s.etp;
    case SearchKey::micro_batch: return number(job.training.micro_batch);
    case SearchKey::recompute: return value_of(s.recompute);
    case SearchKey::attention_kernel: return number(s.attention_kernel.value_or(AttentionKernel::unfused));
    case SearchKey::overlap_tp: return number(s.overlap.tp.value_or(TpOverlap::none));
    case SearchKey::offload:
      return number(s.offload.optimizer) +
             kPlaced * (number(s.offload.parameters) + kPlaced * number(s.offload.activations));
  }
  return 0;
}

void set_value(SearchKey key, SearchValue value, Job& job) {
  Strategy& s = job.strategy;
  switch (key) {
    case SearchKey::tp: s.tp = value; break;
    case SearchKey::sp:
      s.sp = value != 0;
      s.sp_given = true;
      break;
    case SearchKey::cp: s.cp = value; break;
    case SearchKey::cp_kind: s.cp_kind = static_cast<CpKind>(value); break;
    case SearchKey::pp: s.pp = value; break;
    case SearchKey::schedule: s.schedule = static_cast<Schedule>(value); break;
    case SearchKey::vpp: s.vpp = value; break;
    case SearchKey::embedding_in_split: s.embedding_in_split = value != 0; break;
    case SearchKey::stage_layers:
      if (value == kEvenLayers) s.stage_layers.clear();
      if (value > kEvenLayers) s.stage_layers = cut_of(job, static_cast<LayerCut>(value - 1));
      break;
    case SearchKey::dp: s.dp = value; break;
    case SearchKey::zero: s.zero = value; break;
    case SearchKey::shard: s.shard = value; break;
    case SearchKey::ep: s.ep = value; break;
    case SearchKey::etp:
      s.etp = value;
      s.etp_given = true;
      break;
    case SearchKey::micro_batch: job.training.micro_batch = value; break;
    case SearchKey::recompute: s.recompute = recompute_of(value); break;
    case SearchKey::attention_kernel: s.attention_kernel = static_cast<AttentionKernel>(value); break;
    case SearchKey::overlap_tp: s.overlap.tp = static_cast<TpOverlap>(value); break;
    case SearchKey::offload:
      s.offload = offload_of(value);
      s.offload_given = s.offload.any();
      break;
  }
}

std::string value_text(SearchKey key, SearchValue value) {
  const auto at = [&](const auto& names) { return std::string(names[static_cast<std::size_t>(value)]); };
  switch (key) {
    case SearchKey::sp:
    case SearchKey::embedding_in_split: return value != 0 ? "true" : "false";
    case SearchKey::cp_kind: return at(kNamesOf<CpKind>);
    case SearchKey::schedule: return at(kNamesOf<Schedule>);
    case SearchKey::stage_layers: return std::string(kLayerCuts[static_cast<std::size_t>(value + 1)]);
    case SearchKey::attention_kernel: return at(kNamesOf<AttentionKernel>);
    case SearchKey::overlap_tp: return at(kNamesOf<TpOverlap>);
    case SearchKey::offload: return offload_text(value);
    case SearchKey::recompute: return recompute_text(value);
    default: return std::to_string(value);
  }
}

}  // namespace spec
