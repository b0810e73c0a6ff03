// core/spec/uneven_layers.h -- cuts of a model whose layers do not divide over the chunks of its pipeline, or whose
// ends do more than a layer's work. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/spec/job.h"

namespace spec {

/// by_work: the busiest stage computes as little as it can, the head, layers of multi-token prediction and dense layers
/// among experts counted by the weights that a token meets; among equals the first stages, which hold most
/// microbatches, have fewer layers. light_front: one layer less on each of the first stages, whatever else they do.
enum class LayerCut { by_work, light_front };

/// Strategy::stage_layers of that cut: layers of each of model_chunks(), in model order. Empty where that is the even
/// cut, where a chunk in the middle would hold none, and for a model that is a list of layers. REQUIRES: pp, vpp >= 1.
std::vector<int> uneven_layers(const Model&, const Strategy&, LayerCut);

}  // namespace spec
