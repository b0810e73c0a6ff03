// core/base/trimmed.h -- a text without the blanks around it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace base {

inline std::string_view trimmed(std::string_view text, std::string_view blanks = " \t") {
  const std::size_t first = text.find_first_not_of(blanks);
  return first == text.npos ? std::string_view{} : text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

}  // namespace base
