// core/plan/build.h -- a Job becomes a Plan.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/plan.h"
#include "core/spec/job.h"

namespace plan {

/// Lowers one step. REQUIRES: spec::check(job).empty() and the job is resolved. Decode: `rounds` steps, the tokens of
/// one going back into the first stage for the next.
Plan build(const spec::Job&, int rounds = 1);

}  // namespace plan
