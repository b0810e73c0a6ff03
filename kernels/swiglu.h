// kernels/swiglu.h -- the gated activation between the two matmuls of a Llama MLP.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/types.h"

namespace kernels {

/// gate_up holds [rows, 2 width]: of each row the gate's half, then the up half, as one matmul leaves them.
struct Swiglu {
  std::int64_t rows = 0, width = 0;
};

namespace reference {

/// y[rows, width] = silu(gate) up, silu(x) = x / (1 + exp(-x)). Source: Shazeer, "GLU Variants Improve Transformer",
/// 2020.
void swiglu_forward(const Swiglu&, Input gate_up, Output y);
/// dgate_up may be gate_up.
void swiglu_backward(const Swiglu&, Input gate_up, Input dy, Output dgate_up);

}  // namespace reference

namespace gpu {

void swiglu_forward(const Swiglu&, Element element, const void* gate_up, void* y, Stream);
void swiglu_backward(const Swiglu&, Element element, const void* gate_up, const void* dy, void* dgate_up, Stream);

}  // namespace gpu
}  // namespace kernels
