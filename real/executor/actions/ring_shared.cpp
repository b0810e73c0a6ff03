// SPDX-License-Identifier: Apache-2.0
#include "real/executor/actions/ring_shared.h"

#include <algorithm>

namespace real {

std::vector<plan::RingStep> ring_steps_of(const Task& task) {
  return plan::ring_steps(task.c.cp, task.c.sequence, task.c.zigzag, mask_of(task));
}

int ring_owner(const Task& task, std::int64_t step) {
  const int cp = task.c.cp;
  return (task.rank.place.cp() - static_cast<int>(step) + cp) % cp;
}

std::vector<std::int64_t> attended_steps(const Task& task, bool from_the_end) {
  const std::vector<plan::RingStep> steps = ring_steps_of(task);
  std::vector<std::int64_t> out;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].pairs > 0) out.push_back(static_cast<std::int64_t>(i));
  }
  if (from_the_end) std::reverse(out.begin(), out.end());
  return out;
}

std::int64_t next_attended(Task& task, bool from_the_end) {
  const std::vector<std::int64_t> steps = attended_steps(task, from_the_end);
  return steps[task.next_piece(1, static_cast<std::int64_t>(steps.size()))];
}

}  // namespace real
