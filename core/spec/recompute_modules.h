// core/spec/recompute_modules.h -- the names by which a Job calls what is computed again.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/spec/strategy.h"

namespace spec {

inline constexpr std::array<std::pair<std::string_view, bool RecomputeModules::*>, 7> kRecomputeModules{
    {{"core_attn", &RecomputeModules::core_attn},
     {"layernorm", &RecomputeModules::layernorm},
     {"mla_up_proj", &RecomputeModules::mla_up_proj},
     {"moe_act", &RecomputeModules::moe_act},
     {"mlp", &RecomputeModules::mlp},
     {"moe", &RecomputeModules::moe},
     {"shared_experts", &RecomputeModules::shared_experts}}};

inline std::vector<std::string> names_of(const RecomputeModules& modules) {
  std::vector<std::string> out;
  for (const auto& [module, member] : kRecomputeModules) {
    if (modules.*member) out.emplace_back(module);
  }
  return out;
}

}  // namespace spec
