// core/plan/ring_at_once.cpp -- PyTorch's ring attention with its default rotation: K and V of all ranks come in one
// all-gather beside the first step, attention goes on step by step as in a ring, results are merged in fp32 by eager
// kernels. Backward gathers K and V again; their gradients go round in fp32, a hop behind each step.
// Source: torch/distributed/tensor/experimental/_attention.py (rotation by all-gather, merging in fp32; 2024 to 2025).
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "core/plan/context_parallel.h"

namespace plan {

void ContextParallel::ring_at_once_forward() {
  const std::vector<RingStep> steps = this->steps();
  const int count = static_cast<int>(steps.size());
  const double e = static_cast<double>(c_.element);
  const std::int64_t travelling = keys_and_values(c_), gathered = travelling * c_.cp;
  const std::int64_t outputs = c_.tokens * c_.context_width;
  // Gathered K and V, the joined own ones, the running output and a step's in fp32.
  const std::int64_t held = (gathered + travelling) * c_.element + 3 * outputs * 4;
  out_.take(Category::workspace, held);
  pass(travelling, e, e, "keys and values joined");
  communicate(CollectiveKind::all_gather, gathered, "keys and values all-gather");
  for (int i = 0; i < count; ++i) {
    if (steps[i].pairs == 0) continue;
    if (i == 1) out_.join(Stream::cp);
    attention(steps[i], i == 0, false);
    const std::int64_t made = c_.batch * steps[i].queries * c_.context_width;
    pass(made, e, 4, "attention output to fp32");
    if (i == 0) continue;
    // The difference, times the sigmoid of the log-sum-exps', taken from the running output.
    pass(made, 8 + 4 + 8, 4 + 4 + 4, "attention output merge");
    if (made < outputs) pass(outputs, 4, 4, "attention output halves joined");
  }
  pass(outputs, 4, e, "attention output from fp32");
  out_.give(Category::workspace, held);
}

void ContextParallel::ring_at_once_backward() {
  const std::vector<RingStep> steps = this->steps();
  const int count = static_cast<int>(steps.size());
  const double e = static_cast<double>(c_.element);
  const std::int64_t travelling = keys_and_values(c_), gathered = travelling * c_.cp;
  const std::int64_t queries = c_.tokens * c_.q_width;
  // Gathered K and V; gradients of queries, and of keys and values twice, in fp32.
  const std::int64_t held = gathered * c_.element + (queries + 2 * travelling) * 4;
  out_.take(Category::workspace, held);
  pass(travelling, e, e, "keys and values joined");
  communicate(CollectiveKind::all_gather, gathered, "keys and values all-gather");
  out_.record(kHopped);
  for (int i = 0; i < count; ++i) {
    if (i == 1) out_.join(kHopped);
    const RingStep& step = steps[i];
    if (step.pairs > 0) attention(step, i == 0, true);
    if (i > 0) out_.join(Stream::cp);  // the gradients of these keys as the rank before left them
    pass(c_.batch * step.queries * c_.q_width, e + 4, 4, "attention gradients added");
    const std::int64_t made = c_.batch * step.keys * c_.attention_kv_heads * (c_.head_dim + c_.value_head_dim);
    pass(made, e + 4, 4, "attention gradients added");
    if (made < travelling) pass(travelling, 4, 4, "attention gradient halves joined");
    pass(travelling, 4, 4, "key and value gradients joined");
    communicate(CollectiveKind::shift, travelling * 4 / c_.element, "key and value gradients shift");
  }
  out_.join(Stream::cp);
  pass(queries + travelling, 4, e, "attention gradients from fp32");
  out_.give(Category::workspace, held);
}

}  // namespace plan
