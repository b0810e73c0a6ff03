// sim/memory/mends.h -- what would make a job fit that does not.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/spec/job.h"

namespace sim {

/// At most four single changes of the job that make it fit, as flags ("--recompute full"), those that cost least time
/// first; those that leave hardly any room (tight.h) where none leaves more. Where none does alone, those that trade
/// time for memory together, then with parameters sharded, then with states on the host. Each is planned and measured,
/// none is guessed. Empty when nothing helps. REQUIRES: resolved.
std::vector<std::string> changes_that_fit(const spec::Job&);

}  // namespace sim
