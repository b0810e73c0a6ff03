// SPDX-License-Identifier: Apache-2.0
#include "core/plan/unit_cut.h"

#include <algorithm>
#include <string_view>

namespace plan {
namespace {

/// The module that an operator stands in; empty: the network itself.
std::string_view module_of(const spec::Layer& layer) {
  const std::string_view name = layer.name;
  const std::size_t dot = name.rfind('.');
  return name.substr(0, dot == std::string_view::npos ? 0 : dot);
}

}  // namespace

bool keeps_over_step(const Context& c) {
  if (c.model.is_list()) return false;  // one microbatch behind the other, whatever the schedule
  return c.pp > 1 || (c.strategy.traits().forwards_first && c.microbatches > 1);
}

UnitCut::UnitCut(const Context& c, const Chunk& chunk) : c_(c), chunk_(chunk) {
  const std::vector<Span> blocks = this->blocks();
  const std::size_t count = blocks.size();
  const std::size_t size = c.strategy.fsdp.unit > 0 ? static_cast<std::size_t>(c.strategy.fsdp.unit) : count;
  for (std::size_t i = 0; i < count; i += size) {
    units_.push_back({blocks[i].first, blocks[std::min(count, i + size) - 1].end});
  }
}

std::vector<UnitCut::Span> UnitCut::blocks() const {
  std::vector<Span> out;
  std::string_view latest;
  for (int i = 0; i < chunk_.layers; ++i) {
    if (!c_.model.is_list()) {
      out.push_back({i, i + 1});
      continue;
    }
    const std::string_view module = module_of(c_.model.list[i]);
    if (module.empty()) {
      latest = {};
    } else if (module == latest) {
      out.back().end = i + 1;
    } else {
      out.push_back({i, i + 1});
      latest = module;
    }
  }
  return out;
}

int UnitCut::of(int layer_of_chunk) const {
  const auto unit =
      std::partition_point(units_.begin(), units_.end(), [&](const Span& u) { return u.end <= layer_of_chunk; });
  return unit == units_.end() || unit->first > layer_of_chunk ? -1 : static_cast<int>(unit - units_.begin());
}

bool UnitCut::opens(int layer_of_chunk) const {
  const int unit = of(layer_of_chunk);
  return unit >= 0 && units_[unit].first == layer_of_chunk;
}

bool UnitCut::closes(int layer_of_chunk) const {
  const int unit = of(layer_of_chunk);
  return unit >= 0 && units_[unit].end == layer_of_chunk + 1;
}

Held UnitCut::held(int unit) const {
  Held out;
  for (int i = units_[unit].first; i < units_[unit].end; ++i) out += layer_parameters(c_, chunk_.first_layer + i);
  return out;
}

Held UnitCut::loose() const {
  Held out;
  for (int i = 0; c_.model.is_list() && i < chunk_.layers; ++i) {
    if (of(i) < 0) out += layer_parameters(c_, chunk_.first_layer + i);
  }
  return out;
}

Held UnitCut::root() const {
  Held root = loose();
  if (chunk_.first) root += embedding_held(c_);
  if (chunk_.last) root += last_parameters(c_);
  return root;
}

bool UnitCut::kept(int unit) const {
  return !c_.strategy.fsdp.reshard || (unit + 1 == count() && chunk_.last && !keeps_over_step(c_));
}

}  // namespace plan
