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

/// Predicts one step. REQUIRES: check(job).empty() and resolved (config::read_job does both).
Outcome predict(const spec::Job&);

}  // namespace sim
