// core/config/yaml_quoted.h -- text as a double-quoted YAML scalar.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace config {

/// Control characters become spaces.
inline std::string yaml_quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + '"';
}

}  // namespace config
