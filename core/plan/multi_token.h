// core/plan/multi_token.h -- multi-token prediction (DeepSeek-V3, arXiv 2412.19437, section 2.2) behind the last layer:
// each module norms the hidden state and the embedding of the next token, projects both joined back to one width, runs
// a block like the last, or those of Model::mtp_pattern, and predicts with the shared head a loss of its own. As in
// Megatron the last stage holds a copy of the embedding for it. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/builder.h"
#include "core/plan/context.h"
#include "core/plan/shares.h"
#include "core/plan/tensor_parallel.h"

namespace plan {

/// All modules, in order, each with its head and loss; between the last layer and the model's own head.
/// `index_in_stage`: layers of the stage in front of them. Without effect when Model::mtp is 0.
void multi_token_forward(const Context&, SegmentBuilder&, int index_in_stage);
void multi_token_backward(const Context&, SegmentBuilder&, int index_in_stage);

/// Of the joined pair back to one width.
Linear multi_token_projection(const Context&);

/// What one rank of the last stage holds for them: norms, projections, blocks and the copied embedding, if any.
Held multi_token_parameters(const Context&);

/// The last stage has an embedding whose gradient is summed with the first stage's.
bool copies_embedding(const Context&);

}  // namespace plan
