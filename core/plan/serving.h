// core/plan/serving.h -- what prefill and decode do that training does not: the KV cache, the sampling of tokens, and
// their way back to the first stage. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/plan/builder.h"
#include "core/plan/context.h"
#include "core/plan/shares.h"

namespace plan {

/// Tokens that one query attends to behind `context` of them, on average over the places that it may have in its chunk.
std::int64_t seen_by_one(const spec::Model&, bool limited, std::int64_t context);

/// Numbers that one token leaves in the KV cache of one layer on one rank.
std::int64_t cached_width(const Context&);
/// Keys and values of every sequence of a replica on one rank, in bytes: Training::cached() tokens in each layer of the
/// chunk of layers, a window's worth, or that of a chunk of tokens, where the layer attends to no more; latent
/// attention caches the compressed ones, whole on every tensor-parallel rank. Context-parallel ranks share the tokens.
std::int64_t kv_cache_bytes(const Context&, const Chunk&);

/// Final norm and logits of the last token of each sequence, gathered over the tensor-parallel ranks and sampled.
void sample_tokens(const Context&, SegmentBuilder&);

/// The sampled tokens go from the last stage to the first, eight bytes each.
void send_tokens(const Context&, SegmentBuilder&);
void receive_tokens(const Context&, SegmentBuilder&);

}  // namespace plan
