// cli/answers.h -- what compare, search and validate work out of their command line: they tell it, `forerun plot` draws
// it. Each throws base::InputError. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "cli/arguments.h"
#include "core/result/comparison.h"
#include "core/result/search.h"
#include "core/result/validation.h"

namespace cli {

result::Comparison compared(const Arguments&);

/// Nothing: another process of the launch tells the answer.
std::optional<result::Search> searched(const Arguments&);
/// Those of the answer, not of how it is written.
std::vector<Option> search_options();

/// Of steps, not of collectives.
result::Validation validated(const Arguments&);
Option tier_option();

}  // namespace cli
