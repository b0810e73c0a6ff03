// SPDX-License-Identifier: Apache-2.0
#include "sim/predict.h"

#include "core/plan/build.h"
#include "sim/analysis/account.h"
#include "sim/engine/flatten.h"
#include "sim/memory/footprint.h"
#include "sim/memory/ledger.h"
#include "sim/prices.h"
#include "sim/serving.h"

namespace sim {

Outcome predict(const spec::Job& job) {
  const plan::Plan plan = plan::build(job);
  const std::vector<base::Seconds> prices = prices_of(plan, job);
  const EngineInput input = flatten(plan, prices, job);

  Outcome out;
  out.trace = simulate(plan, input);
  const std::vector<Footprint> memory = footprints(plan, job);
  out.prediction = account(job, plan, out.trace, memory);
  if (job.training.serves()) add_serving(job, plan, out.prediction);
  if (!out.prediction.fits) out.prediction.mends = changes_that_fit(job);
  for (const plan::Role& role : plan.roles) {
    out.trace.memory.push_back(timeline(plan, role, out.trace, tracks_of(out.trace, role)));
  }
  return out;
}

}  // namespace sim
