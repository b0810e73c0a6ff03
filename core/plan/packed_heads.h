// core/plan/packed_heads.h -- copies around a fused attention kernel whose queries, keys and values come from one
// matmul.
//
// Megatron, Megatron-DeepSpeed, nanotron and MPT cut the packed output, turn it to the order that the kernel reads, and
// join the gradients again. FlashAttention reads [batch, sequence, heads, width] without gaps; their order is
// [sequence, batch, ...], so with one sequence in a microbatch only what no kernel has written anew (values; without
// rotary embedding all three) has gaps, with several all three and the output are turned. cuDNN reads packed heads
// where they lie unless rotary embedding has taken queries and keys out. Grouped queries are made one piece before
// that. Sources: megatron/core/transformer/attention.py and megatron/model/transformer.py, FlashSelfAttention
// (2023-24); nanotron models/llama.py; llmfoundry/models/layers/attention.py. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/plan/context.h"

namespace plan {

/// Elements a token of one rank; 0: nothing is copied. `rope`: the layer has a rotary embedding.
std::int64_t copied_before_attention(const Context&, bool rope);
std::int64_t copied_behind_attention(const Context&, bool rope);

}  // namespace plan
