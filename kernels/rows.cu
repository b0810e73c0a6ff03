// kernels/rows.cu -- see rows.h.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/device.cuh"
#include "kernels/rows.h"

namespace kernels::gpu {
namespace {

constexpr std::int64_t kRows = 64;  // of one block's sum

template <class T>
__global__ void add(std::int64_t count, std::int64_t width, const T* bias, T* y) {
  for (std::int64_t i = grid_index(); i < count; i += grid_stride()) {
    y[i] = from_float<T>(to_float(y[i]) + to_float(bias[i % width]));
  }
}

/// A thread sums a column over some rows, so that neighbours read neighbours.
template <class T>
__global__ void sum(std::int64_t rows, std::int64_t width, const T* dy, float* dbias) {
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (column >= width) return;
  for (std::int64_t first = blockIdx.y * kRows; first < rows; first += gridDim.y * kRows) {
    float total = 0;
    for (std::int64_t row = first; row < min(rows, first + kRows); ++row) total += to_float(dy[row * width + column]);
    atomicAdd(dbias + column, total);
  }
}

}  // namespace

void add_rows(std::int64_t rows, std::int64_t width, Element element, const void* bias, void* y, Stream stream) {
  with_element(element, [&]<class T>() {
    launch(add<T>, {blocks_for(rows * width), kBlock}, stream, rows * width, width, as<T>(bias), as<T>(y));
  });
  check_launch("add rows");
}

void sum_rows(std::int64_t rows, std::int64_t width, Element element, const void* dy, float* dbias, Stream stream) {
  const dim3 grid(static_cast<unsigned>((width + kBlock - 1) / kBlock), blocks_for(rows, kRows));
  with_element(element, [&]<class T>() { launch(sum<T>, {grid, kBlock}, stream, rows, width, as<T>(dy), dbias); });
  check_launch("sum rows");
}

}  // namespace kernels::gpu
