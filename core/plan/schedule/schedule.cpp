// SPDX-License-Identifier: Apache-2.0
#include "core/plan/schedule/schedule.h"

#include <utility>

namespace plan {
namespace {

using Schedule = spec::Schedule;

std::vector<Slot> of_one_stage(Schedule schedule, const Pipeline& p) {
  switch (schedule) {
    case Schedule::gpipe: return gpipe(p);
    case Schedule::one_f_one_b:
    case Schedule::interleaved: return p.chunks > 1 || p.beside ? interleaved(p) : one_f_one_b(p);
    case Schedule::zb_h1: return zb_h1(p);
    case Schedule::zb_h2: return zb_h2(p)[p.stage];
    case Schedule::zb_v: return zb_v(p)[p.stage];
    case Schedule::dualpipe: return dualpipe(p);
    case Schedule::pipedream: return pipedream(p);
  }
  return {};
}

}  // namespace

std::vector<std::vector<Slot>> orders(Schedule schedule, const Pipeline& pipeline) {
  if (schedule == Schedule::zb_h2) return zb_h2(pipeline);
  if (schedule == Schedule::zb_v) return zb_v(pipeline);
  std::vector<std::vector<Slot>> out;
  Pipeline one = pipeline;
  for (one.stage = 0; one.stage < one.stages; ++one.stage) out.push_back(of_one_stage(schedule, one));
  return out;
}

std::vector<Slot> order(Schedule schedule, const Pipeline& pipeline) { return of_one_stage(schedule, pipeline); }

}  // namespace plan
