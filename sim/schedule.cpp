// SPDX-License-Identifier: Apache-2.0
#include "sim/schedule.h"

#include <algorithm>

#include "core/plan/build.h"
#include "core/spec/search_space.h"
#include "sim/analysis/account.h"
#include "sim/analysis/passes.h"
#include "sim/engine/flatten.h"
#include "sim/memory/footprint.h"
#include "sim/prices.h"

namespace sim {

result::Schedule schedule_of(const spec::Job& job) {
  const plan::Plan plan = plan::build(job);
  const EngineInput input = priced(plan, job);
  const trace::Trace trace = simulate(plan, input);
  const result::Prediction prediction = account(job, input, trace, footprints(plan, job));
  const auto overlapped = [](const plan::Call& call) { return call.other >= 0; };

  result::Schedule out;
  out.job = prediction.job;
  out.name = spec::value_text(spec::SearchKey::schedule, spec::value_of(spec::SearchKey::schedule, job));
  out.chunks = job.strategy.chunks_a_stage();
  out.step_time_s = prediction.step_time_s;
  out.bubble_fraction = prediction.bubble_fraction;
  out.bubble_stage = prediction.breakdown_stage;
  out.beside = std::any_of(plan.roles.begin(), plan.roles.end(), [&](const plan::Role& role) {
    return std::any_of(role.calls.begin(), role.calls.end(), overlapped);
  });
  out.two_way = job.strategy.schedule == spec::Schedule::dualpipe;
  out.rolling = plan.rolling;
  out.stages = passes(plan, trace);
  return out;
}

}  // namespace sim
