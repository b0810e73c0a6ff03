// kernels/attention_sinks.h -- a learned logit for each head that takes part in the softmax of attention and has no
// value (gpt-oss). To what attention has left it is one more key: probabilities shrink, the gradients of queries, keys
// and values are then attention's own. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/attention.h"

namespace kernels::reference {

/// sinks [heads]. Turns out and lse (attention.h) of some or all keys into those of these and the sinks. Source: Xiao
/// et al., "Efficient Streaming Language Models with Attention Sinks", 2023, section 3.3; OpenAI, gpt-oss model card,
/// 2025.
void attention_sinks_forward(const Attention&, Input sinks, Output out, Output lse);

/// dsinks [heads] -= sum of exp(sink - lse) (dout . out) over sequences and queries. out and lse are of all keys and
/// the sinks; attention_backward() takes the same.
void attention_sinks_backward(const Attention&, Input sinks, Input out, Input lse, Input dout, Output dsinks);

}  // namespace kernels::reference

namespace kernels::gpu {

void attention_sinks_forward(const Attention&, Element element, const void* sinks, void* out, float* lse, Stream);
void attention_sinks_backward(const Attention&, Element element, const void* sinks, const void* out, const float* lse,
                              const void* dout, float* dsinks, Stream);

}  // namespace kernels::gpu
