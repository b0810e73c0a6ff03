// real/executor/actions/gathered_experts.h -- dispatchers that send tokens, and not a copy for each of their experts
// (core/plan/moe.h): by allgather every rank of an expert-parallel group has all tokens of the group and picks those of
// its experts, and a reduce-scatter adds up what the ranks made of each; by deepep a rank has the tokens that visit its
// experts, each once, and sends one sum of each back. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real/executor/task.h"

namespace real {

/// Whether tokens travel before they are copied; with one rank of ep there is nowhere to go.
bool gathers_tokens(const Task&);

// Forward: tokens and their routing to the ranks, rows of this rank's experts, their weighted sums, each rank's own
// tokens.
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
