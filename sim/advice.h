// sim/advice.h -- what predict() leaves to those that show one prediction. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result/prediction.h"
#include "core/spec/job.h"
#include "sim/memory/mends.h"

namespace sim {

/// Finds and prices what would make the job fit (mend_prices.h), of what may be told, and warns where the host sets the
/// pace (host_bound.h). REQUIRES: the prediction is predict()'s of this job.
void advise(const spec::Job&, result::Prediction&, const MayTell& = {});

}  // namespace sim
