// cli/tree.h -- a tree of a catalogue file for people and for programs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/config/document.h"

namespace cli {

/// As YAML, indented by `indent`. A value that was written in another file than `file` (a base's, say) tells its place,
/// a map once for all that it holds.
std::string tree_text(const config::Value&, const std::string& file, int indent);

/// As JSON: numbers and true/false where the file has them unquoted, text otherwise ("450GB/s").
nlohmann::ordered_json tree_json(const config::Value&);

}  // namespace cli
