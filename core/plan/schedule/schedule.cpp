// SPDX-License-Identifier: Apache-2.0
#include "core/plan/schedule/schedule.h"

#include <cassert>

namespace plan {

std::vector<Slot> order(spec::Schedule schedule, const Pipeline& p) {
  switch (schedule) {
    case spec::Schedule::gpipe: return gpipe(p);
    case spec::Schedule::one_f_one_b: return one_f_one_b(p);
    case spec::Schedule::interleaved: return p.chunks > 1 ? interleaved(p) : one_f_one_b(p);
    default: break;
  }
  assert(!"check() refuses other schedules");
  return {};
}

}  // namespace plan
