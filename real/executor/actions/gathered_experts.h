// real/executor/actions/gathered_experts.h -- dispatcher allgather (core/plan/moe.h): every rank of an expert-parallel
// group has all tokens of the group and picks those of its experts; a reduce-scatter adds up what the ranks made of
// each. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real/executor/task.h"

namespace real {

/// Whether tokens are gathered before they are copied; with one rank of ep there is nothing to gather.
bool gathers_tokens(const Task&);

// Forward: tokens and their routing to all, rows of this rank's experts, their weighted sums, each rank's own tokens.
void gather_tokens(Task&);
void permute_gathered(Task&);
void unpermute_gathered(Task&);
void combine_gathered(Task&);

// The same on the way back, each the gradient of the one above.
void scatter_token_gradients(Task&);
void permute_gathered_backward(Task&);
void unpermute_gathered_backward(Task&);
void gather_output_gradients(Task&);

}  // namespace real
