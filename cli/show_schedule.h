// cli/show_schedule.h -- forerun show schedule [JOB] [flags]: the pipeline's passes, stages by time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "cli/arguments.h"

namespace cli {

/// Options that `show schedule` has, --json apart.
std::vector<Option> schedule_options();
/// REQUIRES: the first operand is "schedule".
int show_schedule(const Arguments&);

}  // namespace cli
