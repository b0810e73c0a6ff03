// kernels/batched_matmul.h -- matmuls of one shape whose operands lie at equal distances: those of attention's heads,
// read where they are packed. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/matmul.h"

namespace kernels {

/// In elements: between two rows as they are stored, between two members of the batch. 0 between members: all share
/// the operand (not C, which each of them writes).
struct Strides {
  std::int64_t row = 0, member = 0;
};

/// `count` times the matmul `each` (matmul.h), whose operands have gaps behind their rows where a stride is wider.
struct BatchedMatmul {
  Matmul each;
  std::int64_t count = 1;
  Strides a, b, c;
};

namespace reference {

/// Operands begin at the first member's first element and reach at least to the last member's last.
void batched_matmul(const BatchedMatmul&, Input a, Input b, Output c);

}  // namespace reference
}  // namespace kernels
