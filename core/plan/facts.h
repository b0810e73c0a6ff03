// core/plan/facts.h -- a job in key and value, and what kind of work each of its Plan's works is: what a record of a
// step says beside its spans. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/plan/plan.h"
#include "core/spec/job.h"
#include "core/trace/recorded.h"

namespace plan {

/// Model, GPUs, batch, precision and degrees: what decides which operators a step has, in the Job file's keys.
trace::Facts facts_of(const spec::Job&);

/// By index into the Plan's works, as spans have them.
std::vector<trace::WorkKind> work_kinds_of(const Plan&);

}  // namespace plan
