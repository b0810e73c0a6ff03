// tests/emulated_gpu/libraries/matmul.h -- D = alpha op(A) op(B) + beta C as cuBLAS documents it: columns first, sums
// in fp32. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cublasLt.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "tests/emulated_gpu/work.h"

namespace emulated_gpu {

struct Matrix {
  cudaDataType type = CUDA_R_32F;
  std::int64_t rows = 0, columns = 0, leading = 0;  // a column begins `leading` numbers behind the one before
  std::int64_t batch = 1, stride = 0;
  friend bool operator==(const Matrix&, const Matrix&) = default;
};

struct Product {
  Matrix a, b, c;
  bool transpose_a = false, transpose_b = false;
  cublasLtMatmulMatrixScale_t scale_a = CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F,
                              scale_b = CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;
  std::int64_t m() const { return c.rows; }
  std::int64_t n() const { return c.columns; }
  std::int64_t k() const { return transpose_a ? a.rows : a.columns; }
  friend bool operator==(const Product&, const Product&) = default;
};

struct Operands {
  const void *a = nullptr, *b = nullptr, *c = nullptr;
  void* d = nullptr;
  const void *scale_a = nullptr, *scale_b = nullptr;  // of operands in fp8
  float alpha = 1, beta = 0;
};

bool is_fp8(cudaDataType type);

/// Throws Fault for operands outside of the GPU's arrays.
void multiply(const Product&, const Operands&, int gpu);

/// Work of a library that uses a workspace from its begin to its end. Throws Fault where somebody else has, meanwhile.
Make in_workspace(std::string text, void* workspace, std::size_t bytes, int gpu, std::function<void()> work);

}  // namespace emulated_gpu
