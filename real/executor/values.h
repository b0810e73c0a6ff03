// real/executor/values.h -- the tensors that live between operators: those of each microbatch, by chunk, layer and
// name, and those of each parameter. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "real/executor/order.h"
#include "real/executor/tensor.h"

namespace real {

/// A tensor and who has touched it.
struct Value {
  Tensor tensor;
  Accesses accesses;
  explicit operator bool() const { return static_cast<bool>(tensor); }
};

/// Which pass through which layer a tensor belongs to; layer -1: none of them, an end of the model or what flows from
/// layer to layer.
struct Site {
  std::int16_t chunk = -1;
  std::int32_t microbatch = -1;
  std::int16_t layer = -1;
  auto operator<=>(const Site&) const = default;
};

using Named = std::map<std::string, Value, std::less<>>;

/// Values of the microbatches under way.
class Values {
 public:
  Value* find(const Site& site, std::string_view name) {
    const auto named = sites_.find(site);
    if (named == sites_.end()) return nullptr;
    const auto value = named->second.find(name);
    return value == named->second.end() ? nullptr : &value->second;
  }
  Value& at(const Site& site, std::string_view name) {
    Named& named = sites_[site];
    const auto value = named.find(name);
    return value != named.end() ? value->second : named.emplace(std::string(name), Value{}).first->second;
  }
  void erase(const Site& site, std::string_view name) {
    const auto named = sites_.find(site);
    if (named == sites_.end()) return;
    if (const auto value = named->second.find(name); value != named->second.end()) named->second.erase(value);
  }
  /// Names at a site that begin with `prefix`, in order.
  std::vector<std::string> names(const Site& site, std::string_view prefix) const {
    std::vector<std::string> out;
    const auto named = sites_.find(site);
    if (named == sites_.end()) return out;
    for (auto i = named->second.lower_bound(prefix); i != named->second.end() && i->first.starts_with(prefix); ++i) {
      out.push_back(i->first);
    }
    return out;
  }
  /// Drops the values of a site that `drops(name, value)` names.
  template <class Drops>
  void erase_if(const Site& site, Drops drops) {
    const auto named = sites_.find(site);
    if (named == sites_.end()) return;
    std::erase_if(named->second, [&](auto& entry) { return drops(entry.first, entry.second); });
  }
  /// All that a microbatch left in a chunk.
  void forget(std::int16_t chunk, std::int32_t microbatch) {
    std::erase_if(sites_, [&](const auto& s) { return s.first.chunk == chunk && s.first.microbatch == microbatch; });
  }
  void clear() { sites_.clear(); }

 private:
  std::map<Site, Named> sites_;
};

}  // namespace real
