// kernels/squared_relu.h -- the activation of Primer's and Nemotron's feed-forward.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/types.h"

namespace kernels {
namespace reference {

/// y = max(x, 0)^2. Source: So et al., "Primer", 2021, section 3.
void squared_relu_forward(Input x, Output y);
/// dx may be dy.
void squared_relu_backward(Input x, Input dy, Output dx);

}  // namespace reference

namespace gpu {

void squared_relu_forward(std::int64_t count, Element element, const void* x, void* y, Stream);
void squared_relu_backward(std::int64_t count, Element element, const void* x, const void* dy, void* dx, Stream);

}  // namespace gpu
}  // namespace kernels
