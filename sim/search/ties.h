// sim/search/ties.h -- whether two predictions of one machine differ by more than they may be off.
//
// log(measured / predicted) of two strategies on the same GPUs, network and software is off together as far as both
// spend the same share of the step in the same curves: then the error cancels in their ratio. What is left has the
// variance
//   sum over causes (share_a residual_a - share_b residual_b)^2 + what each step has for itself, once for each of the
//   two
// and b is tied with a when log(b / a) is below the point that a tenth of such differences lie beyond.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result/prediction.h"

namespace sim {

/// Standard deviation of log(measured b / measured a) about log(predicted b / predicted a).
double deviation_of_ratio(const result::Prediction& a, const result::Prediction& b);
bool tied(const result::Prediction& better, const result::Prediction& other);

}  // namespace sim
