// core/config/row_source.h -- where a row of a table comes from, in one line.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/config/text_lines.h"

namespace config {

/// "owner/repository path @ commit" of row["source"], as far as it tells them; a URL where it has no repository.
/// Throws base::InputError at the last line when the row has no such map, or one with a key that is not known.
std::string source_of(const TextLines&, const nlohmann::json& row);

}  // namespace config
