// kernels/batched_matmul_reference.cpp -- see batched_matmul.h. SPDX-License-Identifier: Apache-2.0
#include "kernels/batched_matmul.h"

#include <Eigen/Core>

namespace kernels::reference {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Gaps = Eigen::OuterStride<>;

/// What is used as `rows` x `columns`.
Matrix operand(const double* first, std::int64_t row, std::int64_t rows, std::int64_t columns, bool transposed) {
  using Stored = Eigen::Map<const Matrix, 0, Gaps>;
  if (transposed) return Stored(first, columns, rows, Gaps(row)).transpose();
  return Stored(first, rows, columns, Gaps(row));
}

}  // namespace

void batched_matmul(const BatchedMatmul& p, Input a, Input b, Output c) {
  const Matmul& each = p.each;
  for (std::int64_t i = 0; i < p.count; ++i) {
    const Matrix left = operand(&a[i * p.a.member], p.a.row, each.m, each.k, each.transpose_a);
    const Matrix right = operand(&b[i * p.b.member], p.b.row, each.k, each.n, each.transpose_b);
    Eigen::Map<Matrix, 0, Gaps> result(&c[i * p.c.member], each.m, each.n, Gaps(p.c.row));
    if (each.beta == 0) {
      result.setZero();
    } else {
      result *= each.beta;
    }
    result.noalias() += each.alpha * left * right;
  }
}

}  // namespace kernels::reference
