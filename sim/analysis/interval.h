// sim/analysis/interval.h -- how far the measured step may lie from the predicted one, and why: the spread of the
// curves that price it, carried through the slowest stage, and what no curve stands for.
//
// log(measured / predicted) is taken as normal on either side of the prediction, with a standard deviation of its own:
//   sigma^2 = sum over families (sum over the family's works (share * residual))^2 + sum over the other causes (...)^2
// share is of the slowest stage's busy time: kernels on its compute stream, communication where it is exposed, and
// waits for the host. Errors inside a family add up, those of different families are independent. A bubble is made of
// what other stages do, and stretches as the rest does. The other causes and their constants: core/spec/uncertainty.h.
// Leaves out: communication that is hidden and would be exposed if it were slower; it is part of what is unmodelled.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/result/prediction.h"
#include "core/spec/job.h"
#include "core/trace/trace.h"
#include "sim/analysis/breakdown.h"
#include "sim/engine/engine.h"

namespace sim {

/// Standard deviations beyond which a tenth of a normal distribution lies, on either side.
inline constexpr double kTenth = 1.2815515655446004;

inline constexpr const char* kStackCause = "software stack";
inline constexpr const char* kUnmodelledCause = "what is not modelled";
/// Whether a cause is one of spec::Scarce.
bool is_scarce(const std::string& cause);

/// The causes with an effect, the largest first. `first` and `shares` are of the slowest stage, as breakdown() has
/// them.
std::vector<result::IntervalContribution> interval_causes(const spec::Job&, const EngineInput&, const trace::Trace&,
                                                          std::size_t first, const Breakdown& shares);

/// Ends of the interval in which 80 % of measured steps are expected, one in ten below and one above, as factors of the
/// predicted time.
struct Interval {
  double low = 1, high = 1;  // 0 < low <= 1 <= high
};
Interval interval_of(const std::vector<result::IntervalContribution>&);

}  // namespace sim
