// cli/model_facts.h -- parameters of a model by part.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/spec/model.h"

namespace cli {

/// Parts that the model has, in model order, and "total" last. Empty for models that are lists of operators.
std::vector<std::pair<std::string, std::int64_t>> parameter_parts(const spec::Model&);

}  // namespace cli
