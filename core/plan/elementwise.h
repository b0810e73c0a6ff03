// core/plan/elementwise.h -- bytes and launches of the kernels between matmuls, fused and as an eager framework runs
// them. Counts are per element of the named tensor; a fused kernel reads each input and writes each output once. The
// eager chains are those of PyTorch modules written op by op (upcast to fp32, one kernel an operation), counted in
// docs/prices.md. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/plan/context.h"

namespace plan {

/// Bytes of an element of an activation's input while it waits for its backward: one where the job stores it in fp8
/// (Megatron Core's --activation-func-fp8-input-store; gated activations), which costs a cast each way.
std::int64_t activation_input_element(const Context&);
/// Tensors as wide as the feed-forward that a gated activation keeps for its backward beside the halves and the result:
/// silu's; of a clamped one both clamped halves, the sigmoid and what it was multiplied to.
int kept_by_eager_gate(const Context&);
/// Bytes an element of the feed-forward that an activation written out keeps beside its input and result.
std::int64_t kept_of_written_gelu(const Context&);

/// A memory-bound work and how many kernels the host issues for it.
struct Chain {
  MemoryBound work;
  int launches = 1;
};

/// `read` and `written` in bytes an element.
Chain chain(MemoryBound::Kind, std::int64_t elements, double read, double written, int kernels);

/// Layer norm is one kernel even in eager PyTorch; RMSNorm is a chain there.
bool eager_norm(const Context&);
/// Of rows of `width` numbers, of `element` bytes each; 0: without weights, which no library has a kernel for.
Chain norm_forward(const Context&, std::int64_t elements, std::int64_t width, std::int64_t element);
Chain norm_backward(const Context&, std::int64_t elements, std::int64_t width, std::int64_t element);
/// Of queries and of keys, head by head or of all of a rank's heads.
Chain query_key_norm(const Context&, bool backward);
/// Activation of the feed-forward on `tokens` tokens of one rank; `width` numbers each, 0: the dense layers' ffn.
Chain activation_forward(const Context&, std::int64_t tokens, std::int64_t width = 0);
Chain activation_backward(const Context&, std::int64_t tokens, std::int64_t width = 0);
/// Rotary embedding of queries and keys, or of `elements` of them (latent attention).
Chain rope_forward(const Context&);
Chain rope_backward(const Context&);
Chain rotation(const Context&, std::int64_t elements, bool backward);
/// K and V of a group copied to each of its query heads, or the sum of their gradients.
Chain expand_kv(const Context&, bool backward);
/// Whether the halves of each expert's gated feed-forward are matmuls of their own.
bool separates_experts(const Context&);
/// Sum of `parts` gradients of one tensor, pair by pair or in one compiled kernel.
Chain gradient_sum(const Context&, std::int64_t elements, int parts);
/// Residual addition, with bias and dropout where the job has it.
Chain residual_forward(const Context&);
Chain dropout_forward(const Context&, std::int64_t elements);
Chain dropout_backward(const Context&, std::int64_t elements);  // of a residual branch
/// Sum of the gradients that meet where a residual branch left.
Chain residual_backward(const Context&);
/// Scale, mask and softmax as one kernel: the framework's own, or a graph compiler's; otherwise a chain in fp32.
bool softmax_is_one_kernel(const Context&);
/// Whether such a chain casts scores to fp32 for its softmax, and back.
bool upcasts_scores(const Context&);
/// Softmax over `scores` attention scores when attention is not one fused kernel.
Chain softmax_forward(const Context&, std::int64_t scores);
Chain softmax_backward(const Context&, std::int64_t scores);
/// What a chain has around its softmax, either way: scale and mask, and casts to fp32 and back. REQUIRES: not one
/// kernel.
Chain scores_around_softmax(const Context&, std::int64_t scores);
Chain copy_of(const Context&, std::int64_t elements);
/// Sum over tokens for a bias gradient.
Chain bias_gradient(const Context&, std::int64_t tokens, std::int64_t width);
/// Biases of `experts` on `rows` rows of `width` numbers, of all experts together, and their gradients: nothing where
/// the matmul has them. `last`: of the experts' second matmul.
Chain expert_biases(const Context&, std::int64_t rows, std::int64_t width, std::int64_t experts, bool last);
Chain expert_bias_gradient(const Context&, std::int64_t rows, std::int64_t width, std::int64_t experts, bool last);
/// Whether a weight gradient that left its matmul in `storage` is added to the main one: a lone microbatch's is the sum
/// already, when the main gradient has its dtype.
bool adds_gradients(const Context&);
/// Of a step's microbatches, the share whose gradients are added to what is there: all, where main gradients are zeroed
/// before; else those behind the first, whose own take the place of the sum.
double added_share(const Context&);
/// Adds a weight gradient that left its matmul in `storage` to the main gradient buffer.
Chain accumulate_gradient(const Context&, std::int64_t parameters);
/// Vocabulary-parallel cross entropy over logits of `tokens` tokens: before, between and behind its reductions.
Chain loss_maximum(const Context&);
Chain loss_forward(const Context&);
Chain loss_backward(const Context&);

}  // namespace plan
