// real/executor/values.h -- the tensors that live between operators: those of each microbatch, by chunk, layer and
// name, and those of each parameter. Which operator of a step is the last to ask for one, the first step tells; the
// steps behind it let it go there. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "real/executor/order.h"
#include "real/executor/tensor.h"

namespace real {

/// A tensor and who has touched it.
struct Value {
  Tensor tensor;
  Accesses accesses;
  Issued asked = {};  // who asked for it last, or whether it is there
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
    return value == named->second.end() ? nullptr : &asked(value->second);
  }
  Value& at(const Site& site, std::string_view name) {
    Named& named = sites_[site];
    const auto value = named.find(name);
    return asked(value != named.end() ? value->second : named.emplace(std::string(name), Value{}).first->second);
  }
  void erase(const Site& site, std::string_view name) {
    const auto named = sites_.find(site);
    if (named == sites_.end()) return;
    if (const auto value = named->second.find(name); value != named->second.end()) named->second.erase(value);
  }
  /// Names at a site that begin with `prefix`, in order.
  std::vector<std::string> names(const Site& site, std::string_view prefix) {
    std::vector<std::string> out;
    const auto named = sites_.find(site);
    if (named == sites_.end()) return out;
    for (auto i = named->second.lower_bound(prefix); i != named->second.end() && i->first.starts_with(prefix); ++i) {
      out.push_back(i->first);
      asked(i->second);
    }
    return out;
  }
  /// Drops the values of a site that `drops(name, value)` names.
  template <class Drops>
  void erase_if(const Site& site, Drops drops) {
    const auto named = sites_.find(site);
    if (named == sites_.end()) return;
    std::erase_if(named->second, [&](auto& entry) {
      const bool goes = drops(entry.first, entry.second);
      if (goes) learn(site, entry.first, entry.second);
      return goes;
    });
  }
  /// All that a microbatch left in a chunk.
  void forget(std::int16_t chunk, std::int32_t microbatch) {
    forget_if([&](const Site& site) { return site.chunk == chunk && site.microbatch == microbatch; });
  }
  void clear() {
    forget_if([](const Site&) { return true; });
  }

  // When values go. An operator asks for the same values in each step, whatever their numbers are.
  void begin(Issued by) { now_ = by; }
  /// Behind an operator: what nobody asks for from now on goes.
  void end() {
    const auto last = learns_ ? last_.end() : last_.find(now_);
    if (last == last_.end()) return;
    for (const auto& [site, name] : last->second) erase(site, name);
  }
  /// From now on, or up to now, every value that goes tells who asked for it last.
  void learn(bool on) { learns_ = on; }

 private:
  Value& asked(Value& value) const {
    value.asked = now_;
    return value;
  }
  void learn(const Site& site, const std::string& name, const Value& value) {
    if (learns_) last_[value.asked].emplace_back(site, name);
  }
  template <class Which>
  void forget_if(Which which) {
    std::erase_if(sites_, [&](const auto& entry) {
      if (!which(entry.first)) return false;
      for (const auto& [name, value] : entry.second) learn(entry.first, name, value);
      return true;
    });
  }

  std::map<Site, Named> sites_;
  Issued now_;
  bool learns_ = false;
  std::map<Issued, std::vector<std::pair<Site, std::string>>> last_;
};

}  // namespace real
