// sim/schedule.h -- the step of a Job as its pipeline runs it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result/schedule.h"
#include "core/spec/job.h"

namespace sim {

/// `memory`: that of each stage over time, too. REQUIRES: check(job).empty() and resolved (config::read_job does both).
result::Schedule schedule_of(const spec::Job&, bool memory = false);

}  // namespace sim
