// sim/sensitivity.h -- how the step time follows from every figure of hardware, calibration and framework.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result/sensitivity.h"
#include "core/spec/job.h"

namespace sim {

/// Elasticity and the effect of 10 % more, of each input that the step depends on. Exact along the critical path where
/// that is a plain sum of prices (sim/analysis/path_sum.h), by central differences of whole steps elsewhere; with 10 %
/// more the step is always run again. REQUIRES: check(job).empty() and resolved (config::read_job does both).
result::Sensitivity sensitivity(const spec::Job&);

}  // namespace sim
