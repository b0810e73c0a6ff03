// cli/tree.h -- a tree of a catalogue file for people and for programs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/config/document.h"

namespace cli {

/// As YAML, indented by `indent`. A value that was written in another file than `file` (a base's, say) tells its place,
/// a map once for all that it holds. Values and places go on below themselves where they are wider than `columns`.
std::string tree_text(const config::Value&, const std::string& file, int indent,
                      int columns = std::numeric_limits<int>::max());

/// As JSON: numbers and true/false where the file has them unquoted, text otherwise ("450GB/s").
nlohmann::ordered_json tree_json(const config::Value&);

}  // namespace cli
