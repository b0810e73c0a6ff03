// core/config/routing_reader.h -- how many tokens each expert is given: as counted in a real run, or dealt out in turn.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "core/config/map_reader.h"

namespace config {

/// `key` is a list of tokens by expert, or the path of a file that holds one: a YAML or JSON list, or numbers between
/// commas, spaces and ends of lines. Or it is the word round_robin, which sets that. Leaves `counts` empty when the key
/// is absent, wrong or that word.
void read_routing(MapReader&, std::string_view key, std::vector<double>& counts, bool& round_robin);

}  // namespace config
