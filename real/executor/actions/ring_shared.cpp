// SPDX-License-Identifier: Apache-2.0
#include "real/executor/actions/ring_shared.h"

#include <algorithm>

namespace real {

std::vector<plan::RingStep> ring_steps_of(const Task& task) {
  const plan::Context& c = task.c;
  return plan::ring_steps_in_documents(c.cp, c.sequence, c.zigzag, mask_of(task), c.document);
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

Tensor joined(Task& task, const std::string& name, const Tensor& k, const Tensor& v) {
  const Tensor kv = task.make(name, k.count + v.count);
  task.backend.copy(k, kv.part(0, k.count));
  task.backend.copy(v, kv.part(k.count, v.count));
  return kv;
}

void merge_step(Task& task, const Tensor& out, const Tensor& lse) {
  const Tensor before = task.read("attention"), lse_before = task.read("attention lse");
  const Tensor sum = task.make("attention", out.count), sum_lse = task.make("attention lse", lse.count, kStatistic);
  task.backend.copy(before, sum);
  task.backend.copy(lse_before, sum_lse);
  task.backend.attention_merge(attention_shape(task, task.c.tokens / task.c.batch, 0), out, lse, sum, sum_lse);
}

}  // namespace real
