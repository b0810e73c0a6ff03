// sim/predict.h -- a Job becomes an answer: plan, price, run, account. Read predict.cpp top to bottom.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

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

/// Predicts one step; the prediction is the same in every detail but for picoseconds. What would make the job fit is
/// left to those that show it (advice.h). REQUIRES: check(job).empty() and resolved (config::read_job does both).
Outcome predict(const spec::Job&, Detail = Detail::operators);

/// What a search asks of the thousands that it looks at: Prediction's fields of these names, and its pace.
struct Outline {
  double step_time_s = 0, pace_s = 0;
  std::int64_t peak_bytes = 0;
  bool fits = false;
  std::int64_t spans = 0;  // of the Trace that predict() makes of chains
};

/// The same figures as predict() has for chains. Keeps no spans: what a pipeline does again is not even copied.
/// REQUIRES: as predict().
Outline outline(const spec::Job&);

}  // namespace sim
