// real/executor/actions/latent.h -- latent attention (core/plan/mla.h) between its projections and the core. Heads'
// queries and keys are their own part, then the rotary one, which all heads' keys share: the last columns of "key and
// value down". Fused kernels or chains, what each operator leaves is the same. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real/executor/actions.h"

namespace real {

/// The chain's "rotary embedding" of queries and of the keys' shared part, and back.
void turn_latent(Task&);
void turn_latent_gradient(Task&);

/// The gradient of "key and value down": of its narrow vectors and of the rotary keys, side by side.
void join_narrow_gradient(Task&);

}  // namespace real
