// real/executor/actions/ring_shared.h -- the steps of a ring, whether keys and values come hop by hop or at once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "real/executor/blocks.h"

namespace real {

/// Keys and values of step `step`, keys first; those of step 0 are the rank's own.
inline std::string ring_name(std::int64_t step) { return "ring " + std::to_string(step); }

/// As the Plan counts them.
std::vector<plan::RingStep> ring_steps_of(const Task&);
/// The context-parallel rank whose keys step `step` has.
int ring_owner(const Task&, std::int64_t step);
/// The steps that attend at all; of the operators of one name each is the next one's.
std::vector<std::int64_t> attended_steps(const Task&, bool from_the_end);
std::int64_t next_attended(Task&, bool from_the_end);

/// Of keys and values, or of their gradients, keys first.
Tensor joined(Task&, const std::string& name, const Tensor& k, const Tensor& v);
/// "attention" and its log-sum-exp are now those of another step's keys, too.
void merge_step(Task&, const Tensor& out, const Tensor& lse);

}  // namespace real
