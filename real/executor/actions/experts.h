// real/executor/actions/experts.h -- what the two halves of a layer of experts share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real/executor/actions.h"

namespace real {

/// Of the operator's layer and microbatch, once its counts are on the host.
Routing& routing_of(Task&);
Counts flat(const std::vector<Counts>&);

void add_expert_linear_actions(Actions&);

}  // namespace real
