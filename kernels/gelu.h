// kernels/gelu.h -- the activation of GPT's MLP, exact or by its tanh approximation.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/types.h"

namespace kernels {

/// erf: x Phi(x). tanh: x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))). Source: Hendrycks and Gimpel, 2016.
enum class Gelu { tanh, erf };

namespace reference {

void gelu_forward(Gelu, Input x, Output y);
/// dx may be dy.
void gelu_backward(Gelu, Input x, Input dy, Output dx);

}  // namespace reference

namespace gpu {

void gelu_forward(Gelu, std::int64_t count, Element element, const void* x, void* y, Stream);
void gelu_backward(Gelu, std::int64_t count, Element element, const void* x, const void* dy, void* dx, Stream);

}  // namespace gpu
}  // namespace kernels
