// real/executor/actions/experts.h -- what the parts of a layer of experts share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real/executor/actions.h"

namespace real {

/// Of the operator's layer and microbatch, once its counts are known.
Routing& routing_of(Task&);
Counts flat(const std::vector<Counts>&);

/// This rank's tokens and all experts.
kernels::Permute permute_shape(const Task&);

/// What the ranks of ep have for this rank's experts: told by each, or everyone's capacity.
void receive_counts(Task&);

/// Fresh, `rows` of the model's width; zeros where a capacity leaves rows that no token takes.
Tensor make_rows(Task&, std::string_view name, std::int64_t rows);

/// Of the layer's branch, as the layers behind it left it.
Tensor branch_gradient(Task&);

void add_expert_linear_actions(Actions&);

}  // namespace real
