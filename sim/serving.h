// sim/serving.h -- what a prefill or a decode step means to those who wait for tokens.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/plan.h"
#include "core/result/prediction.h"
#include "core/spec/job.h"

namespace sim {

/// Decode: seconds between two tokens of one sequence once the pipeline is full: a microbatch's next token starts as
/// soon as its last one is back at the first stage. It is what two further rounds add to the step, halved; with one
/// stage it is the step itself. `plan`: of one round, whose step takes `step_time_s`.
double decode_pace(const spec::Job&, const plan::Plan& plan, double step_time_s);

/// Prefill: the time to the first token is the step's. Decode: throughput and MFU are those of its pace.
/// REQUIRES: account() has filled `out` from the plan of one round.
void add_serving(const spec::Job&, const plan::Plan&, result::Prediction& out);

}  // namespace sim
