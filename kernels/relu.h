// kernels/relu.h -- max(x, 0) of the first transformers (OPT), and its square between the two matmuls of a Nemotron.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/types.h"

namespace kernels {

/// Source of the square: So et al., "Primer", 2021, section 3.
enum class Relu { plain, squared };

namespace reference {

void relu_forward(Relu, Input x, Output y);
/// dx = dy times 1 where x > 0, else 0; squared times 2 max(x, 0). dx may be dy.
void relu_backward(Relu, Input x, Input dy, Output dx);

}  // namespace reference

namespace gpu {

void relu_forward(Relu, std::int64_t count, Element element, const void* x, void* y, Stream);
void relu_backward(Relu, std::int64_t count, Element element, const void* x, const void* dy, void* dx, Stream);

}  // namespace gpu
}  // namespace kernels
