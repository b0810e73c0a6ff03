// sim/mend_prices.h -- what the changes that would make a job fit cost in time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result/prediction.h"
#include "core/spec/job.h"

namespace sim {

/// Predicts the job of each of `mends`, fills in `mend_step_times_s` and puts both in order, the shortest step first.
/// Drops those whose step cannot be simulated. Up to four predictions more, so predict() leaves it to those that show
/// them; nothing where the job fits. REQUIRES: the prediction is predict()'s of this job.
void price_mends(const spec::Job&, result::Prediction&);

}  // namespace sim
