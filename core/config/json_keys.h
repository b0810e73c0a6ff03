// core/config/json_keys.h -- keys of a JSON row that nobody reads are mistakes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/near_names.h"
#include "core/base/text.h"
#include "core/config/text_lines.h"

namespace config {

/// Throws base::InputError at the last line for a key of `map` that `known` lacks. `path` stands before it: "shape.".
inline void refuse_unknown(const TextLines& lines, const nlohmann::json& map, const std::vector<std::string>& known,
                           const std::string& path = "") {
  for (const auto& entry : map.items()) {
    if (std::find(known.begin(), known.end(), entry.key()) != known.end()) continue;
    lines.fault(1, path + entry.key(), "is not known",
                base::nearest_or(entry.key(), known, "leave it out, or write it in note"));
  }
}

}  // namespace config
