// kernels/rows.cu -- see rows.h.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/device.cuh"
#include "kernels/rows.h"

namespace kernels::gpu {
namespace {

constexpr std::int64_t kRows = 64;  // of one block's sum

template <class T, int V>
__global__ void add(std::int64_t count, std::int64_t width, const T* bias, T* y) {
  for (std::int64_t i = grid_index() * V; i < count; i += grid_stride() * V) {
    const Pack<T, V> more = load<V>(bias + i % width);
    Pack<T, V> pack = load<V>(y + i);
    for (int j = 0; j < V; ++j) pack.set(j, pack[j] + more[j]);
    store(y + i, pack);
  }
}

/// A thread sums V columns over some rows, so that neighbours read neighbours.
template <class T, int V>
__global__ void sum(std::int64_t rows, std::int64_t width, const T* dy, float* dbias) {
  const std::int64_t column = grid_index() * V;
  if (column >= width) return;
  for (std::int64_t first = blockIdx.y * kRows; first < rows; first += gridDim.y * kRows) {
    float total[V] = {};
#pragma unroll 4
    for (std::int64_t row = first; row < min(rows, first + kRows); ++row) {
      const Pack<T, V> pack = load<V>(dy + row * width + column);
      for (int j = 0; j < V; ++j) total[j] += pack[j];
    }
    for (int j = 0; j < V; ++j) atomicAdd(dbias + column + j, total[j]);
  }
}

}  // namespace

void add_rows(std::int64_t rows, std::int64_t width, Element element, const void* bias, void* y, Stream stream) {
  with_packs(element, packs(element, width, bias, y), [&]<class T, int V>() {
    launch(add<T, V>, {blocks_for(rows * width / V), kBlock}, stream, rows * width, width, as<T>(bias), as<T>(y));
  });
  check_launch("add rows");
}

void sum_rows(std::int64_t rows, std::int64_t width, Element element, const void* dy, float* dbias, Stream stream) {
  with_packs(element, packs(element, width, dy), [&]<class T, int V>() {
    const unsigned threads = threads_for(width / V, kBlock);
    const dim3 grid(static_cast<unsigned>((width / V + threads - 1) / threads), blocks_for(rows, kRows, kFewBlocks));
    launch(sum<T, V>, {grid, threads}, stream, rows, width, as<T>(dy), dbias);
  });
  check_launch("sum rows");
}

}  // namespace kernels::gpu
