// SPDX-License-Identifier: Apache-2.0
#include "reports/style.h"

#include <fmt/format.h>

namespace reports {

std::string inked(std::string_view text, Ink ink, const Style& style) {
  if (!style.colour || text.empty()) return std::string(text);
  return fmt::format("\033[{}m{}\033[0m", static_cast<int>(ink), text);
}

}  // namespace reports
