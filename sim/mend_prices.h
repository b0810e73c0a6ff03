// sim/mend_prices.h -- what the changes that would make a job fit cost in time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result/prediction.h"
#include "core/spec/job.h"
#include "sim/memory/mends.h"

namespace sim {

/// Fills in `mends` (memory/mends.h) and `mend_step_times_s`, the shortest step first. Drops those whose step cannot be
/// simulated. A dozen plans and up to four predictions more, so predict() leaves it to those that show them; nothing
/// where the job fits. REQUIRES: the prediction is predict()'s of this job.
void price_mends(const spec::Job&, result::Prediction&, const MayTell& = {});

}  // namespace sim
