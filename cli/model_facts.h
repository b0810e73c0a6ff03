// cli/model_facts.h -- a model with its defaults filled in, as a tree, and its parameters by part.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/config/document.h"
#include "core/spec/model.h"

namespace cli {

/// Every field under its key of a model file. The values' places are empty.
config::Value model_tree(const spec::Model&);

/// Parts that the model has, in model order, and "total" last. Empty for models that are lists of operators.
std::vector<std::pair<std::string, std::int64_t>> parameter_parts(const spec::Model&);

}  // namespace cli
