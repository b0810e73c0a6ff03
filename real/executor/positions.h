// real/executor/positions.h -- which tokens of which sequences a rank computes with, as indices for kernels.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real/executor/task.h"

namespace real {

/// The first sequence of the microbatch, counted over all steps.
std::int64_t first_sequence(const Task&);

/// Of every token of a microbatch on this context-parallel rank, [batch, tokens of a sequence]: its place in its
/// document, its id, the id of the one behind it.
Tensor positions_of_tokens(Task&);
Tensor ids_of_tokens(Task&);
Tensor targets_of_tokens(Task&);

}  // namespace real
