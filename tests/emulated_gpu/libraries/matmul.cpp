// tests/emulated_gpu/libraries/matmul.cpp -- see matmul.h. Where scales lie is said in cuBLAS's documentation, "1D
// block scaling factors layout" and "1D and 2D block scaling for FP8 data types"; it is written down here a second
// time, apart from kernels/block_cast.h and mx_cast.h. SPDX-License-Identifier: Apache-2.0
#include "tests/emulated_gpu/libraries/matmul.h"

#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "tests/emulated_gpu/libraries/number.h"
#include "tests/emulated_gpu/memory.h"

namespace emulated_gpu {
namespace {

/// [outer, k], one row behind the other: what multiplies the same row or column of the result.
using Rows = std::vector<float>;

/// Of number k of a row, of `rows` rows of `length` numbers.
float scale_of(cublasLtMatmulMatrixScale_t mode, const void* scales, std::int64_t row, std::int64_t k,
               std::int64_t rows, std::int64_t length) {
  const auto* const floats = static_cast<const float*>(scales);
  const auto fours = [](std::int64_t count) { return (count + 3) & ~std::int64_t{3}; };
  switch (mode) {
    case CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F: return floats[0];
    case CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F: return floats[row];
    case CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F: return floats[k / 128 * fours(rows) + row];
    case CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F: return floats[row / 128 * fours((length + 127) / 128) + k / 128];
    case CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0: {
      const std::int64_t block = k / 32, tiles = (length + 127) / 128;  // a tile: 128 rows of 4 blocks
      const std::int64_t tile = row / 128 * tiles + block / 4, within = row % 128;
      const std::int64_t at = tile * 512 + (within % 32) * 16 + (within / 32) * 4 + block % 4;
      return std::ldexp(1.0f, static_cast<const std::uint8_t*>(scales)[at] - 127);
    }
    default: throw Fault("a scale mode that is not emulated");
  }
}

/// `along_columns`: the rows of the result are columns of the matrix in memory.
Rows unpacked(const Matrix& matrix, const void* data, std::int64_t offset, bool along_columns,
              cublasLtMatmulMatrixScale_t mode, const void* scales) {
  const std::int64_t rows = along_columns ? matrix.columns : matrix.rows;
  const std::int64_t length = along_columns ? matrix.rows : matrix.columns;
  Rows out(static_cast<std::size_t>(rows * length));
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t k = 0; k < length; ++k) {
      const std::int64_t at = offset + (along_columns ? row * matrix.leading + k : k * matrix.leading + row);
      const float value = load(data, at, matrix.type);
      const float scale = is_fp8(matrix.type) ? scale_of(mode, scales, row, k, rows, length) : 1;
      out[static_cast<std::size_t>(row * length + k)] = value * scale;
    }
  }
  return out;
}

/// In eight sums, as a GPU has several.
float dot(const float* x, const float* y, std::int64_t length) {
  std::array<float, 8> sums{};
  std::int64_t i = 0;
  for (; i + 8 <= length; i += 8) {
    for (std::size_t lane = 0; lane < 8; ++lane)
      sums[lane] += x[i + static_cast<std::int64_t>(lane)] * y[i + static_cast<std::int64_t>(lane)];
  }
  for (; i < length; ++i) sums[0] += x[i] * y[i];
  float sum = 0;
  for (const float part : sums) sum += part;
  return sum;
}

void expect_there(const Matrix& matrix, const void* data, int gpu, const char* what) {
  if (matrix.rows == 0 || matrix.columns == 0) return;
  const std::int64_t last = (matrix.batch - 1) * matrix.stride + (matrix.columns - 1) * matrix.leading + matrix.rows;
  expect_within(data, static_cast<std::size_t>(last) * bytes_of(matrix.type), gpu, what);
}

}  // namespace

bool is_fp8(cudaDataType type) { return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2; }

void multiply(const Product& p, const Operands& o, int gpu) {
  expect_there(p.a, o.a, gpu, "a matmul's first operand");
  expect_there(p.b, o.b, gpu, "a matmul's second operand");
  expect_there(p.c, o.d, gpu, "a matmul's result");
  if (o.beta != 0) expect_there(p.c, o.c, gpu, "what a matmul adds to");
  const std::int64_t k = p.k();
  for (std::int64_t batch = 0; batch < p.c.batch; ++batch) {
    const Rows a = unpacked(p.a, o.a, batch * p.a.stride, p.transpose_a, p.scale_a, o.scale_a);
    const Rows b = unpacked(p.b, o.b, batch * p.b.stride, !p.transpose_b, p.scale_b, o.scale_b);
    for (std::int64_t column = 0; column < p.n(); ++column) {
      for (std::int64_t row = 0; row < p.m(); ++row) {
        const std::int64_t at = batch * p.c.stride + column * p.c.leading + row;
        const float sum = o.alpha * dot(a.data() + row * k, b.data() + column * k, k);
        store(o.beta != 0 ? sum + o.beta * load(o.c, at, p.c.type) : sum, o.d, at, p.c.type);
      }
    }
  }
}

namespace {

class InWorkspace final : public Work {
 public:
  InWorkspace(std::string text, void* workspace, std::size_t bytes, int gpu, std::function<void()> work)
      : text_(std::move(text)), workspace_(workspace), bytes_(bytes), gpu_(gpu), work_(std::move(work)) {}

  Progress go_on() override {
    if (!begun_ && bytes_ > 0) {
      begun_ = true;
      expect_within(workspace_, bytes_, gpu_, "a workspace");
      const InWorkspace* const self = this;
      std::memcpy(workspace_, &self, sizeof self);
      return Progress::went_on;
    }
    if (begun_ && *static_cast<InWorkspace**>(workspace_) != this) throw Fault("two at a time use one workspace");
    if (!is_idle()) work_();
    return Progress::done;
  }
  std::string text() const override { return text_; }

 private:
  std::string text_;
  void* workspace_;
  std::size_t bytes_;
  int gpu_;
  std::function<void()> work_;
  bool begun_ = false;
};

}  // namespace

Make in_workspace(std::string text, void* workspace, std::size_t bytes, int gpu, std::function<void()> work) {
  return [=] { return std::make_unique<InWorkspace>(text, workspace, bytes, gpu, work); };
}

}  // namespace emulated_gpu
