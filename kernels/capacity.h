// kernels/capacity.h -- experts that take no more than their capacity: which choices of a router are dropped.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/permute.h"

namespace kernels {
namespace reference {

/// kept [tokens, top_k]: experts [tokens, top_k], but -1 for a choice when `capacity` choices of its expert have a
/// larger weight, or the same and stand before it; what is no number is the largest. As Megatron-LM drops by
/// probability.
void drop_choices(const Permute&, Indices experts, Input weights, std::span<std::int32_t> kept);

}  // namespace reference

namespace gpu {

/// As the reference; weights are fp32. Every choice is compared with all: work grows by the square of the choices.
void drop_choices(const Permute&, const std::int32_t* experts, const float* weights, std::int32_t* kept, Stream);

}  // namespace gpu
}  // namespace kernels
