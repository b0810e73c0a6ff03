// SPDX-License-Identifier: Apache-2.0
#include "core/base/listed.h"

#include <cstddef>

namespace base {

std::string listed(const std::vector<std::string>& words, std::string_view last) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out += i + 1 < words.size() ? std::string_view(", ") : last;
    out += words[i];
  }
  return out;
}

}  // namespace base
