// core/config/launch/layer_pattern.h -- Megatron-LM's small languages for which layer is what: --moe-layer-freq
// "([0]*3+[1]*58)" and --pipeline-model-parallel-layout "Et*19|t*21|(t*20|)*2". SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/spec/model.h"

namespace config::launch {

/// The list that such an expression makes; nothing when it is none, or longer than any model.
std::optional<std::vector<int>> layer_list(std::string_view expression);
/// Which layers have experts, as such an expression.
std::string expert_layers(const spec::Model&);
/// The other way: first_dense and every of layers that are 1 where they have experts; nothing for other patterns.
struct ExpertLayers {
  int first_dense = 0, every = 1;
};
std::optional<ExpertLayers> expert_layers(const std::vector<int>& has_experts);

/// Layers of each stage (or chunk, in model order), embedding in the first and loss in the last, there behind `mtp`
/// modules of multi-token prediction ("Ett|tmL" has one); nothing for a layout with anything else.
std::optional<std::vector<int>> stage_layers(std::string_view layout, int mtp = 0);
std::string layout_of(const std::vector<int>& stage_layers, int mtp = 0);

}  // namespace config::launch
