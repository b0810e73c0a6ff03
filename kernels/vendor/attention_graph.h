// kernels/vendor/attention_graph.h -- attention.h's forward and backward as graphs that cuDNN fuses into one kernel
// each. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/attention.h"
#include "kernels/vendor/cudnn_graph.h"

namespace kernels::vendor {

/// A graph and the tensors that a run gives addresses to. Those that a direction does not have keep the id 0.
struct AttentionGraph {
  Graph graph;
  Tensor q, k, v, out, lse;
  Tensor dout, dq, dk, dv;
  Tensor delta;   // backward: sum over a row of dout out, fp32 [batch, heads, queries], for the caller to lend
  Tensor dq_sum;  // backward: dq in fp32 [batch, heads, queries, head_dim], lent; zeroed in front of a run below 9.6
  Tensor scale, nothing;  // numbers: the scale of the scores; -infinity, where causal
  Tensor one;             // backward: 1, in the place that dropout's factor has in delta's part of cuDNN's form
};

/// Throws DeviceError for what these graphs do not have: an offset of a causal mask, a window, dropout, linear biases.
void check_attention(const Attention&);

/// bf16; tensors as attention.h has them. Throw what check_attention does.
AttentionGraph attention_forward_graph(const Attention&);
AttentionGraph attention_backward_graph(const Attention&);

}  // namespace kernels::vendor
