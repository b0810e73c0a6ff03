// kernels/permute.h -- rows of tokens put in the order of their experts, and brought back with the router's weights.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/types.h"

namespace kernels {

/// Every token has top_k rows among those that are ordered by expert, and by token inside one. A choice of an expert
/// that is not held here has none: its row is -1. So has a choice that is dropped, whose expert is -1 or none.
struct Permute {
  std::int64_t tokens = 0, top_k = 1, experts = 0, width = 0;
  std::int64_t first = 0, held = 0;  // experts that have rows here; held 0: all
  std::int64_t capacity = 0;         // rows of each expert, whether taken or not; 0: as many as chose it

  constexpr std::int64_t end() const { return held > 0 ? first + held : experts; }
};

namespace reference {

/// From experts [tokens, top_k]: counts [experts], the rows of each, and rows [tokens, top_k], where each choice lies.
void permute_plan(const Permute&, Indices experts, std::span<std::int32_t> counts, std::span<std::int32_t> rows);

/// sorted [rows, width] from x [tokens, width], and the sum of a token's rows back into dx. A row that no choice has is
/// left as it is.
void permute_forward(const Permute&, Indices rows, Input x, Output sorted);
void permute_backward(const Permute&, Indices rows, Input dsorted, Output dx);

/// y[token] = sum over j of weights[token, j] sorted[rows[token, j]]; backward gives dsorted and dweights [tokens,
/// top_k], 0 where a choice has no row.
void unpermute_forward(const Permute&, Indices rows, Input weights, Input sorted, Output y);
void unpermute_backward(const Permute&, Indices rows, Input weights, Input sorted, Input dy, Output dsorted,
                        Output dweights);

}  // namespace reference

namespace gpu {

/// As the references; weights and dweights are fp32.
void permute_plan(const Permute&, const std::int32_t* experts, std::int32_t* counts, std::int32_t* rows, Stream);
void permute_forward(const Permute&, Element element, const std::int32_t* rows, const void* x, void* sorted, Stream);
void permute_backward(const Permute&, Element element, const std::int32_t* rows, const void* dsorted, void* dx, Stream);
void unpermute_forward(const Permute&, Element element, const std::int32_t* rows, const float* weights,
                       const void* sorted, void* y, Stream);
void unpermute_backward(const Permute&, Element element, const std::int32_t* rows, const float* weights,
                        const void* sorted, const void* dy, void* dsorted, float* dweights, Stream);

}  // namespace gpu
}  // namespace kernels
