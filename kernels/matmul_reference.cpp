// kernels/matmul_reference.cpp -- see matmul.h.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/matmul.h"

#include <Eigen/Core>

namespace kernels::reference {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Eigen::Map<const Matrix> stored(Input values, std::int64_t rows, std::int64_t columns, bool transposed) {
  return transposed ? Eigen::Map<const Matrix>(values.data(), columns, rows)
                    : Eigen::Map<const Matrix>(values.data(), rows, columns);
}

}  // namespace

void matmul(const Matmul& p, Input a, Input b, Output c) {
  const auto left = stored(a, p.m, p.k, p.transpose_a), right = stored(b, p.k, p.n, p.transpose_b);
  Eigen::Map<Matrix> result(c.data(), p.m, p.n);
  if (p.beta == 0) {
    result.setZero();
  } else {
    result *= p.beta;
  }
  if (p.transpose_a && p.transpose_b) {
    result.noalias() += p.alpha * left.transpose() * right.transpose();
  } else if (p.transpose_a) {
    result.noalias() += p.alpha * left.transpose() * right;
  } else if (p.transpose_b) {
    result.noalias() += p.alpha * left * right.transpose();
  } else {
    result.noalias() += p.alpha * left * right;
  }
}

}  // namespace kernels::reference
