// SPDX-License-Identifier: Apache-2.0
#include "core/config/launch/shell_variables.h"

#include <algorithm>
#include <set>
#include <utility>

namespace config::launch {
namespace {

constexpr std::size_t kLongest = 1 << 20;  // letters of a variable that may double itself in each line

}  // namespace

const PlacedText* ShellVariables::find(const std::string& name) const {
  const auto known = values_.find(name);
  return known == values_.end() ? nullptr : &known->second;
}

const std::string* ShellVariables::given(const std::string& name) const {
  if (given_ == nullptr) return nullptr;
  const auto known = given_->values.find(name);
  if (known == given_->values.end()) return nullptr;
  given_->read.insert(name);
  return &known->second;
}

void ShellVariables::assign(const std::string& name, PlacedText value, bool adds, bool conditional, Place at) {
  PlacedText& variable = values_[name];
  std::set<std::pair<int, int>> before;
  for (const Place& place : variable.places) before.emplace(place.line, place.column);
  const auto old = [&](Place place) { return before.contains({place.line, place.column}); };
  if (conditional) {
    const bool extends = adds || std::ranges::any_of(value.places, old);
    for (Place& place : value.places) place.conditional |= !old(place);
    if (!extends && variable.letters.find("--") != std::string::npos)
      replaced_.push_back({name, variable.places.front(), at});
  }
  if (value.letters.size() > kLongest) value = {};  // no launch has such a text
  if (adds && variable.letters.size() < kLongest) {
    variable.add(value);
  } else if (!adds) {
    variable = std::move(value);
  }
}

}  // namespace config::launch
