// cli/joined_names.h -- the names of an enumeration's values in one text, for help and messages.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "core/spec/names.h"

namespace cli {

template <spec::Named E>
inline constexpr auto kJoinedNames = [] {
  std::array<char, spec::kNamesOf<E>.size() * 20> text{};  // no name has more letters; ends with a 0
  std::size_t end = 0;
  for (const std::string_view name : spec::kNamesOf<E>) {
    if (end > 0) text[end++] = ' ';
    for (const char letter : name) text[end++] = letter;
  }
  return text;
}();

/// "gpipe 1f1b interleaved"
template <spec::Named E>
constexpr const char* joined_names() {
  return kJoinedNames<E>.data();
}

}  // namespace cli
