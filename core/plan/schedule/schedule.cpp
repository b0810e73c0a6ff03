// SPDX-License-Identifier: Apache-2.0
#include "core/plan/schedule/schedule.h"

namespace plan {
namespace {

using Schedule = spec::Schedule;

/// Where the order of a stage depends on no other's.
std::vector<std::vector<Slot>> stage_by_stage(std::vector<Slot> (*of)(const Pipeline&), Pipeline p) {
  std::vector<std::vector<Slot>> out;
  for (p.stage = 0; p.stage < p.stages; ++p.stage) out.push_back(of(p));
  return out;
}

}  // namespace

std::vector<std::vector<Slot>> orders(Schedule schedule, const Pipeline& p) {
  switch (schedule) {
    case Schedule::gpipe: return stage_by_stage(gpipe, p);
    case Schedule::one_f_one_b:
    case Schedule::interleaved: return stage_by_stage(p.chunks > 1 || p.beside ? interleaved : one_f_one_b, p);
    case Schedule::zb_h1: return stage_by_stage(zb_h1, p);
    case Schedule::zb_h2: return zb_h2(p);
    case Schedule::zb_v: return zb_v(p);
    case Schedule::dualpipe: return stage_by_stage(dualpipe, p);
    case Schedule::pipedream: return stage_by_stage(pipedream, p);
  }
  return {};
}

}  // namespace plan
