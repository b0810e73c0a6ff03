// real/executor/actions/fp8_weights.h -- weights that exist in fp8 alone (core/plan/low_precision.h: narrow_alone),
// under one scale for each linear layer or expert. They are made of the masters behind the optimizer, or, where ranks
// share those, in the gather: each casts what it owns, by a scale of the whole that the ranks agree upon, and codes
// travel. Under delayed scaling the scale is that of the weight of the step before, 1 in the first step.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "real/executor/task.h"

namespace real {

/// Codes in front of the first step, of the whole part's values. REQUIRES, as all of these: Kept::codes.
void start_fp8_weight(RankState&, Parameter&, const Tensor& whole);
/// The master is new: of a whole one the codes are, too.
void update_fp8_weight(Task&, Parameter&);
/// Codes of the group's new masters, of which each of `ranks` has its share.
void gather_fp8_weights(Task&, const std::vector<Parameter*>&, int ranks);

/// Behind the cast of a weight in mxfp8: its 16 bits, where they are not kept.
inline void let_go_when_cast(Parameter& p) {
  if (p.kept == Kept::until_cast) p.weight = {};
}

}  // namespace real
