// core/config/numbered.h -- things by number, each once. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <vector>

namespace config {

template <class Thing>
class Numbered {
 public:
  /// Of a thing that is new, the next one.
  std::size_t number(const Thing& thing) {
    const auto [at, fresh] = numbers_.try_emplace(thing, all_.size());
    if (fresh) all_.push_back(thing);
    return at->second;
  }
  const std::vector<Thing>& all() const { return all_; }

 private:
  std::vector<Thing> all_;
  std::map<Thing, std::size_t> numbers_;
};

}  // namespace config
