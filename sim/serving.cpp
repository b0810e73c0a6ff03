// SPDX-License-Identifier: Apache-2.0
#include "sim/serving.h"

#include "core/plan/build.h"
#include "sim/pricing/flatten.h"
#include "sim/pricing/prices.h"

namespace sim {
namespace {

constexpr int kRounds = 3;

double of_rounds(const spec::Job& job) {
  const plan::Plan plan = plan::build(job, kRounds);
  return trace::seconds(simulate(plan, priced(plan, job)).length);
}

}  // namespace

double decode_pace(const spec::Job& job, const plan::Plan& plan, double step_time_s) {
  return plan.pp > 1 ? (of_rounds(job) - step_time_s) / (kRounds - 1) : step_time_s;
}

void add_serving(const spec::Job& job, const plan::Plan& plan, result::Prediction& out) {
  if (job.training.mode == spec::Mode::prefill) {
    out.mode = "prefill";
    out.time_to_first_token_s = out.step_time_s;
    return;
  }
  out.mode = "decode";
  const double pace = decode_pace(job, plan, out.step_time_s);
  out.time_per_output_token_s = pace;
  const double faster = out.step_time_s / pace;
  for (double* rate : {&out.tokens_per_s, &out.tokens_per_s_per_gpu, &out.model_tflops_per_gpu,
                       &out.hardware_tflops_per_gpu, &out.mfu, &out.hfu, &out.mfu_of_precision}) {
    *rate *= faster;
  }
}

}  // namespace sim
