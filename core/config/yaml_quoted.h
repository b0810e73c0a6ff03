// core/config/yaml_quoted.h -- text as a double-quoted YAML scalar, a time as one with its unit.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <string>

#include "core/base/units.h"

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

/// "2.5us"
inline std::string yaml_us(base::Seconds time) { return fmt::format("{:.6g}us", time.si() * 1e6); }

}  // namespace config
