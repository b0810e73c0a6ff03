// core/plan/ends.h -- what the first and the last chunk do besides their layers: embedding, output head and loss.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/builder.h"
#include "core/plan/context.h"

namespace plan {

/// A norm over the whole width of a rank's tokens, or its backward, as an operator of that name.
void norm_kernel(const Context&, SegmentBuilder&, const char* name, bool backward);

/// Of the whole model, or, where its vocabulary is spread over the stages, what is left beside vocabulary.h: positions,
/// dropout and norms.
void embedding_forward(const Context&, SegmentBuilder&);
void embedding_backward(const Context&, SegmentBuilder&);
/// Final norm, logits, vocabulary-parallel cross entropy (Shoeybi et al., arXiv 1909.08053, section 3).
void head_forward(const Context&, SegmentBuilder&);
void head_backward(const Context&, SegmentBuilder&);

/// Bytes of logits that outlive the forward of the loss: fp32 when the loss is a chain of kernels.
std::int64_t kept_logits(const Context&);

/// Their parts over the rows of the vocabulary that this rank holds: rows looked up and summed over the
/// tensor-parallel ranks, and the dense gradient of the table; logits and loss, and back from the loss to the gradients
/// of weights and normed states.
void rows_forward(const Context&, SegmentBuilder&);
void rows_backward(const Context&, SegmentBuilder&);
void logits_forward(const Context&, SegmentBuilder&);
void logits_backward(const Context&, SegmentBuilder&);
/// logits_backward() in two: one pass over the logits; the matmuls.
void loss_gradient(const Context&, SegmentBuilder&);
void head_product_backward(const Context&, SegmentBuilder&);

}  // namespace plan
