// core/spec/layer_cuts.h -- how the layers of a model are cut over the chunks of its pipeline: as the strategy says,
// and the cuts that frameworks and the search make where it says nothing. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "core/spec/model.h"
#include "core/spec/strategy.h"

namespace spec {

struct Job;

/// The layers of chunk `chunk` (0 .. vpp-1) of stage `stage`. The embedding goes with the very first chunk, final norm,
/// head and loss with the very last. In model order chunk c of stage s is the (c * pp + s)-th.
struct ChunkLayers {
  int first = 0, count = 0;
};
/// As Strategy::stage_layers says, else evenly: model_chunks() of them, in model order. Empty when the layers cannot be
/// split so; check() then says why. REQUIRES: pp, vpp >= 1.
std::vector<ChunkLayers> split_layers(const Model&, const Strategy&);

/// Layers of each of `stages` stages so that the costliest one costs least, layers (all as their mean) and the output
/// head counted by the weights that a token meets and the embedding as nothing: what frameworks that balance their
/// stages by cost do. The last stage may hold only the head. REQUIRES: stages > 1
std::vector<int> balanced_layers(const Model&, int stages);

/// Layers of each of `chunks` chunks in model order, as even as can be with the embedding and the output head counted
/// as a layer each, the first ones taking what is left over: torchtitan's rule (generate_llm_fqn_per_model_part). Empty
/// where a chunk would hold nothing.
std::vector<int> spread_layers(const Model&, std::int64_t chunks);

/// by_work: the busiest stage computes as little as it can, the head, layers of multi-token prediction and dense layers
/// among experts counted by the weights that a token meets; among equals the first stages, which hold most
/// microbatches, have fewer layers. light_front: one layer less on each of the first stages, whatever else they do.
enum class LayerCut { by_work, light_front };

/// What the search tries where layers do not divide, or the ends do more than a layer's work: Strategy::stage_layers of
/// that cut, layers of each of model_chunks(), in model order. Empty where that is the even cut, where a chunk in the
/// middle would hold none, and for a model that is a list of layers. REQUIRES: pp, vpp >= 1.
/// `paces`: how fast each stage's GPUs are, by_work alone; empty: all alike.
std::vector<int> uneven_layers(const Model&, const Strategy&, LayerCut, std::vector<double> paces = {});

/// The same of a Job, on a mixed cluster by how fast each stage's slowest GPUs are (NodeGroup::pace, or their peaks).
/// REQUIRES: pp, vpp >= 1.
std::vector<int> cut_of(const Job&, LayerCut);

/// Whether the framework cuts the layers where the Job does not say how, also where they do not divide.
bool cuts_by_itself(const Job&);
/// That cut. Framework::balances_stages: one chunk a stage is balanced by cost, and several, or embedding and head
/// counted as layers, are spread where they do not divide. spreads_stages: all are spread, but for embedding and head
/// so counted that divide. Empty: the even one, or there is none.
std::vector<int> own_cut(const Job&);
bool cuts_by_cost(const Job&);  // REQUIRES: cuts_by_itself

/// Whether layers take over the keys that one before them chose, which no framework sends to the next stage (Megatron
/// Core 0.18; AutoModel does, 2026).
bool shares_choices(const Model&);
/// As many chunks, as near to `counts` as can be, each beginning at a layer that chooses keys itself. Empty: there is
/// none. `counts` themselves where layers share no choices.
std::vector<int> cut_at_choices(const Model&, const std::vector<int>& counts);

}  // namespace spec
