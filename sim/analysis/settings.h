// sim/analysis/settings.h -- a job in key and value. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/spec/job.h"
#include "core/trace/recorded.h"

namespace sim {

/// Model, GPUs, batch, precision and degrees: what decides which operators a step has, in the Job file's keys.
trace::Facts facts_of(const spec::Job&);

}  // namespace sim
