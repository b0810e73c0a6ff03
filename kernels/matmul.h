// kernels/matmul.h -- C = alpha op(A) op(B) + beta C, row-major; forward, dgrad and wgrad of a linear layer are its
// transposes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/types.h"

namespace kernels {

/// C is [m, n]. A is stored [m, k], or [k, m] when transposed; B is stored [k, n], or [n, k] when transposed.
/// With weights W [out, in] of y = x W^T: forward (tokens, out, in) transposes B; dx = dy W transposes nothing;
/// dW = dy^T x (out, in, tokens) transposes A and takes beta 1 to add to the gradients of earlier microbatches.
struct Matmul {
  std::int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  double alpha = 1, beta = 0;  // beta 0 does not read C
};

namespace reference {

void matmul(const Matmul&, Input a, Input b, Output c);

}  // namespace reference
}  // namespace kernels
