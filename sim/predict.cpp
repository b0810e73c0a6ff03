// SPDX-License-Identifier: Apache-2.0
#include "sim/predict.h"

#include <utility>

#include "core/plan/build.h"
#include "sim/analysis/account.h"
#include "sim/engine/chains.h"
#include "sim/memory/footprint.h"
#include "sim/memory/host_footprint.h"
#include "sim/memory/ledger.h"
#include "sim/pricing/flatten.h"
#include "sim/pricing/prices.h"
#include "sim/serving.h"

namespace sim {

Outcome predict(const spec::Job& job, Detail detail) {
  const plan::Plan plan = plan::build(job);
  EngineInput input = priced(plan, job);
  if (detail == Detail::chains) chain(input);

  Outcome out;
  out.trace = simulate(plan, input);
  out.prediction = account(job, input, out.trace, footprints(plan, job));
  if (job.training.serves()) add_serving(job, plan, out.prediction);
  if (detail == Detail::chains) return out;
  for (const plan::Role& role : plan.roles) {
    out.trace.memory.push_back(timeline(plan, role, out.trace, tracks_of(out.trace, role)));
  }
  return out;
}

Outline outline(const spec::Job& job) {
  const plan::Plan plan = plan::build(job);
  EngineInput input = priced(plan, job);
  chain(input);

  Outline out;
  const Fullest most = fullest(plan, footprints(plan, job), job.cluster);
  out.peak_bytes = most.peak;
  out.fits = most.fits() && (!job.strategy.offload.any() || host_footprint(plan, job).fits(job.cluster.node));
  out.spans = input.spans();
  out.step_time_s = trace::seconds(length_of(plan, std::move(input)));
  out.pace_s = job.training.mode == spec::Mode::decode ? decode_pace(job, plan, out.step_time_s) : out.step_time_s;
  return out;
}

}  // namespace sim
