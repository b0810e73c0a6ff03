// cli/vary.h -- `--vary PATH=V1,V2`, repeatable: every combination of the values, as if each had been given by --set.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/arguments.h"
#include "core/config/document.h"

namespace cli {

struct Variation {
  std::string path;                 // "strategy.tp"
  std::vector<std::string> values;  // YAML as written: "4", "{kind: full, layers: 2}"
};

Option vary_option();

/// Throws base::InputError: no value, a path varied twice, more combinations than can be meant.
std::vector<Variation> variations(const Arguments&);

/// Path and value of each variation, the last one changing fastest; a single empty one without variations.
using Combination = std::vector<std::pair<std::string, std::string>>;
std::vector<Combination> combinations(const std::vector<Variation>&);

/// Lays it over a Job's tree. Throws base::InputError when a path leads nowhere or a value is not YAML.
void lay_over(config::Value& job, const Combination&);

}  // namespace cli
