// core/spec/weights_met.h -- matmul weights that one token meets: experts that it doesn't visit are left out.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/spec/model.h"

namespace spec {

/// Of one feed-forward; of experts top_k, the shared ones, the router and the projections around them.
double feed_forward_weights_met(const Model&, FeedForward);
/// Of one layer of these parts. A forward does two operations with each.
double weights_met(const Model&, LayerParts);

}  // namespace spec
