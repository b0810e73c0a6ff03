// core/config/search_reader.h -- a Job of which some keys are left for a search to choose.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/config/catalogue.h"
#include "core/config/document.h"
#include "core/spec/search_space.h"

namespace config {

struct OpenJob {
  spec::Job job;            // neither checked nor resolved
  spec::SearchSpace space;  // one value of each key that the tree has
};

/// Throws base::InputError with every fault of the tree.
OpenJob read_open_job(const Value& tree, const Catalogue&);

/// What a Job's tree says of the key; nullptr: nothing.
const Value* written_at(const Value& tree, spec::SearchKey);

/// `key=value,value` as written behind `option` (--fix, --allow): the key's values in `space` from now on. Commas
/// inside of brackets part nothing. Returns the key. Throws base::InputError: no such key, no such value, an empty one.
spec::SearchKey read_values(std::string_view text, const std::string& option, spec::SearchSpace& space);

/// What an answer of a search says of one key (its value of stage_layers is a list), in `job` from now on.
void set_choice(const std::string& key, const std::string& value, spec::Job& job);

/// Keys by name, comma-separated, or `all`. Throws base::InputError.
std::vector<spec::SearchKey> read_keys(std::string_view text, const std::string& option);

}  // namespace config
