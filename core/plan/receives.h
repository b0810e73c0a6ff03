// core/plan/receives.h -- when a stage receives, where activations and gradients of two chunks cross in the same
// direction. A link delivers in the order of sending, which need not be the order of use: what is needed later is
// received before what was sent behind it. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/builder.h"
#include "core/plan/context.h"

namespace plan {

/// Puts a call that receives in front of each call that needs what a neighbour sends, in each neighbour's order of
/// sending. The calls themselves join the streams of their neighbours. Tags are those of the receiving chunk.
void post_receives(const Context&, Pool&, Plan&);

/// The streams that join a stage to another one, by the side on which it lies.
inline Stream receiving_from(int stage, int other) { return other < stage ? Stream::recv_prev : Stream::recv_next; }
inline Stream sending_to(int stage, int other) { return other < stage ? Stream::send_prev : Stream::send_next; }

}  // namespace plan
