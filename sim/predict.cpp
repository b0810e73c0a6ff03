// SPDX-License-Identifier: Apache-2.0
#include "sim/predict.h"

#include <stdexcept>

#include "core/plan/build.h"
#include "sim/analysis/account.h"
#include "sim/engine/flatten.h"
#include "sim/memory/footprint.h"
#include "sim/memory/ledger.h"
#include "sim/prices.h"

namespace sim {

Outcome predict(const spec::Job& job) {
  const plan::Plan plan = plan::build(job);
  const std::vector<base::Seconds> prices = prices_of(plan, job.cluster);
  const EngineInput input = flatten(plan, prices, job);
  EngineOutput output = run(input);
  if (output.deadlocked)
    throw std::logic_error("the plan's operators wait for one another for ever: " + job.model.name);

  Outcome out;
  out.trace = to_trace(plan, input, std::move(output));
  const std::vector<Footprint> memory = footprints(plan, job);
  out.prediction = account(job, plan, out.trace, memory);
  if (!out.prediction.fits) out.prediction.mends = changes_that_fit(job);
  for (std::size_t first = 0; first < out.trace.tracks.size(); first += out.trace.streams) {
    for (const plan::Role& role : plan.roles) {
      if (role.first_rank == out.trace.tracks[first].rank) {
        out.trace.memory.push_back(timeline(plan, role, out.trace, first));
      }
    }
  }
  return out;
}

}  // namespace sim
