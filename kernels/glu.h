// kernels/glu.h -- the gated activation between the two matmuls of a feed-forward: SwiGLU (Llama), GeGLU (Gemma) and
// the clamped SwiGLU of gpt-oss.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/types.h"

namespace kernels {

/// silu(x) = x / (1 + exp(-x)); gelu as Gelu::tanh (gelu.h); clamped: m / (1 + exp(-1.702 m)) of m = min(x, 7), beside
/// which up is kept within 7 of zero and one is added to it (openai/gpt-oss gpt_oss/torch/model.py, swiglu).
enum class Gate { silu, gelu, clamped };
inline constexpr double kGateLimit = 7, kGateSlope = 1.702;

/// gate_up holds [rows, 2 width]: of each row the gate's half, then the up half, as one matmul leaves them.
struct Glu {
  std::int64_t rows = 0, width = 0;
  Gate gate = Gate::silu;
};

namespace reference {

/// y[rows, width] = silu(gate) up, gelu(gate) up, or clamped(gate) (up + 1). Source: Shazeer, "GLU Variants Improve
/// Transformer", 2020.
void glu_forward(const Glu&, Input gate_up, Output y);
/// dgate_up may be gate_up.
void glu_backward(const Glu&, Input gate_up, Input dy, Output dgate_up);

}  // namespace reference

namespace gpu {

void glu_forward(const Glu&, Element element, const void* gate_up, void* y, Stream);
void glu_backward(const Glu&, Element element, const void* gate_up, const void* dy, void* dgate_up, Stream);

}  // namespace gpu
}  // namespace kernels
