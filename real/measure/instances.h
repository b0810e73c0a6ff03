// real/measure/instances.h -- the operators that a rank's step issues, one after another, as spans of a Trace without
// their times. The n-th that an executor begins is the n-th here. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/plan/plan.h"
#include "real/trace/measured.h"

namespace real {

/// What belongs to no operator: filling the sum of losses, reading it back.
inline constexpr OperatorInstance kOutsideOperators = 0;

/// Instances count from 1; tracks are the streams. `what` has the tags that the simulator's spans of this step have.
std::vector<Launched> instances_of(const plan::Plan&, const plan::Role&);

/// Names, phases, channels and a track for each stream of one rank.
trace::Trace frame_of(const plan::Plan&, int rank, int stage);

/// Those records that operators own, and those that nobody does.
Records without_outsiders(Records);

}  // namespace real
