// SPDX-License-Identifier: Apache-2.0
#include "sim/schedule.h"

#include <algorithm>

#include "core/plan/build.h"
#include "core/spec/search_space.h"
#include "sim/analysis/account.h"
#include "sim/analysis/passes.h"
#include "sim/memory/footprint.h"
#include "sim/memory/ledger.h"
#include "sim/pricing/flatten.h"
#include "sim/pricing/prices.h"

namespace sim {
namespace {

/// By the first of the roles that stand for a stage.
void add_memory(const plan::Plan& plan, const trace::Trace& trace, std::vector<result::StageSchedule>& stages) {
  for (const plan::Role& role : plan.roles) {
    const trace::MemoryTrack track = timeline(plan, role, trace, tracks_of(trace, role));
    for (result::StageSchedule& stage : stages) {
      if (stage.stage != track.stage || !stage.memory.empty()) continue;
      for (const trace::MemoryPoint& point : track.points)
        stage.memory.push_back({trace::seconds(point.at), point.bytes});
    }
  }
}

}  // namespace

result::Schedule schedule_of(const spec::Job& job, bool memory) {
  const plan::Plan plan = plan::build(job);
  const EngineInput input = priced(plan, job);
  const trace::Trace trace = simulate(plan, input);
  const result::Prediction prediction = account(job, input, trace, footprints(plan, job));
  const auto overlapped = [](const plan::Call& call) { return call.pass == plan::Pass::overlapped; };

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
  out.two_way = job.strategy.traits().two_copies();
  out.rolling = plan.rolling;
  out.capacity_bytes = prediction.capacity_bytes;
  out.stages = passes(plan, trace);
  if (memory) add_memory(plan, trace, out.stages);
  return out;
}

}  // namespace sim
