// core/plan/ends.h -- what the first and the last chunk do besides their layers: embedding, output head and loss.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/builder.h"
#include "core/plan/context.h"

namespace plan {

void embedding_forward(const Context&, SegmentBuilder&);
void embedding_backward(const Context&, SegmentBuilder&);
/// Final norm, logits, vocabulary-parallel cross entropy (Shoeybi et al., arXiv 1909.08053, section 3).
void head_forward(const Context&, SegmentBuilder&);
void head_backward(const Context&, SegmentBuilder&);

}  // namespace plan
