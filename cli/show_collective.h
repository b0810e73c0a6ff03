// cli/show_collective.h -- forerun show collective OP --node NODE ...: one collective by size on one cluster.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "cli/arguments.h"

namespace cli {

/// Options that only `show collective` has.
std::vector<Option> collective_options();
/// REQUIRES: the first operand is "collective".
int show_collective(const Arguments&);

}  // namespace cli
