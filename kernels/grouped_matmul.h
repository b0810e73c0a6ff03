// kernels/grouped_matmul.h -- a linear layer of each of several experts, on rows of its own: one operator for all.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "kernels/matmul.h"

namespace kernels {

/// With x [rows, in] and y [rows, out], the rows of one expert behind those of the one before, and weights W [experts,
/// out, in]:
///   forward           y = x W^T       of a = x, b = W
///   input_gradient    dx = dy W       of a = dy, b = W
///   weight_gradient   dW = dy^T x     of a = dy, b = x; `adds`: to what is there
struct GroupedMatmul {
  enum class Pass { forward, input_gradient, weight_gradient };
  Pass pass = Pass::forward;
  std::int64_t in = 0, out = 0;
  std::vector<std::int64_t> rows;  // of each expert
  bool adds = false;
};

/// One expert's part, and where its operands begin: elements from those of the first expert.
struct ExpertMatmul {
  Matmul matmul;
  std::int64_t a = 0, b = 0, c = 0;
};

/// In the order of experts, without those that leave C as it is. An expert without rows has a weight gradient of zeros
/// (k is 0) where nothing is added to.
std::vector<ExpertMatmul> of_experts(const GroupedMatmul&);

namespace reference {

void grouped_matmul(const GroupedMatmul&, Input a, Input b, Output c);

}  // namespace reference
}  // namespace kernels
