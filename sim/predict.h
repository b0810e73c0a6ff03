// sim/predict.h -- a Job becomes an answer: plan, price, run, account. Read predict.cpp top to bottom.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result/prediction.h"
#include "core/spec/job.h"
#include "core/trace/trace.h"

namespace sim {

struct Outcome {
  result::Prediction prediction;
  trace::Trace trace;
};

/// How finely the Trace tells the step.
enum class Detail {
  operators,  // a span an operator, and memory over time
  chains      // kernels without a gap in one span (sim/engine/chains.h), no memory over time: a quarter of the time
};

/// Predicts one step; the prediction is the same in every detail but for picoseconds. REQUIRES: check(job).empty() and
/// resolved (config::read_job does both).
Outcome predict(const spec::Job&, Detail = Detail::operators);

}  // namespace sim
