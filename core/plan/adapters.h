// core/plan/adapters.h -- which linear layers of a block low-rank adapters stand beside, how many parameters those are,
// and what a backward needs once all else is frozen. Under latent attention target `qkv` means every projection in
// front of the attention core (q_a, q_b, kv_a, kv_b of Hugging Face's DeepSeek); `ffn` means shared experts and each
// expert, which has a pair of its own. Routers, embeddings, norms and the head are frozen.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "core/plan/block.h"
#include "core/plan/context.h"
#include "core/plan/shares.h"
#include "core/plan/tensor_parallel.h"

namespace plan {

/// Whether W may have an adapter (strategy.lora.targets decides) and, where the base is kept in fewer bits, is so kept.
bool is_target(const Linear&);
/// Whether W has an adapter.
bool adapted(const Context&, const Linear&);
/// Names of the layers that a framework may have for one matrix, in the order of its outputs: queries, keys and values;
/// gate and up of a feed-forward. Otherwise the name itself.
std::vector<std::string_view> module_names(std::string_view linear);
/// The layers that a framework really has for a matrix, each with an adapter of its own.
std::vector<Linear> modules_of(const Linear&);

/// The linear layers of a layer, routers left out.
std::vector<Placed> linears_of_layer(const Context&, spec::LayerParts);
/// The linear layers of a layer that have adapters.
std::vector<Placed> adapted_linears(const Context&, spec::LayerParts);

/// Whether an adapter is in fp32 and runs under autocast: what it reads, and its gradient, go to fp32 and back.
bool wide_adapter(const Context&, const Linear&);

/// Parameters of those adapters of a layer that every tensor-parallel rank holds whole.
std::int64_t whole_adapter_parameters(const Context&);
/// What a rank trains of a layer that holds `whole` parameters: adapters, beside the bytes of the frozen rest.
Held beside_frozen(const Context&, int layer, const Held& whole);
/// Takes from `out` what only gradients of frozen weights would read and adds what adapters keep: x A of each.
void keep_for_adapters(const Context&, spec::LayerParts, BlockActivations& out);

}  // namespace plan
