// SPDX-License-Identifier: Apache-2.0
#include "sim/search/choices.h"

#include <fmt/ranges.h>

#include <string>

namespace sim {

using spec::SearchKey;
using spec::SearchPoint;

namespace {

/// "[3, 4, 4, 2]"
std::string stage_layers_of(const spec::Job& base, const SearchPoint& point) {
  spec::Job job = base;
  for (const SearchKey key : {SearchKey::pp, SearchKey::schedule, SearchKey::vpp, SearchKey::stage_layers}) {
    spec::set_value(key, point[key], job);
  }
  return fmt::format("[{}]", fmt::join(job.strategy.stage_layers, ", "));
}

}  // namespace

result::Choices choices_of(const spec::Job& base, const SearchPoint& point) {
  result::Choices out;
  for (int k = 0; k < spec::kSearchKeys; ++k) {
    const auto key = static_cast<SearchKey>(k);
    const bool moot = (key == SearchKey::cp_kind && point[SearchKey::cp] == 1) ||
                      (key == SearchKey::overlap_tp && point[SearchKey::tp] == 1) ||
                      ((key == SearchKey::ep || key == SearchKey::etp) && !base.model.moe) ||
                      (key == SearchKey::offload && point[key] == 0) || (key == SearchKey::shard && point[key] == 0) ||
                      (key == SearchKey::stage_layers && point[key] == spec::kEvenLayers) ||
                      (key == SearchKey::attention_kernel && base.model.is_list());
    if (moot) continue;
    const bool listed = key == SearchKey::stage_layers;
    out.emplace_back(spec::name(key), listed ? stage_layers_of(base, point) : spec::value_text(key, point[key]));
  }
  return out;
}

}  // namespace sim
