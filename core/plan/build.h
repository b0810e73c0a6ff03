// core/plan/build.h -- a Job becomes a Plan.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/plan.h"
#include "core/spec/job.h"

namespace plan {

/// Lowers one step. REQUIRES: spec::check(job).empty() and the job is resolved.
Plan build(const spec::Job&);

}  // namespace plan
