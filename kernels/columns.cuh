// kernels/columns.cuh -- sums over the columns of a norm's rows, in an order that the shape alone decides: what weight
// and bias get. Two kernels that read the rows for nothing else; norm_backward.cu has the one that need not.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/device.cuh"

namespace kernels::gpu {
namespace {

/// What the gradient is made of, by the names of norm.h.
template <class T>
struct NormGradient {
  std::int64_t rows, width;
  bool centred;
  const T *sum, *weight, *dy, *dsum;
  const float *mean, *rstd;
  T* dx;
  float *dweight, *dbias;

  __device__ float mean_of(std::int64_t row) const { return centred ? mean[row] : 0; }
};

constexpr int kColumnThreads = 256;
constexpr std::int64_t kPieceRows = 128, kColumnBlocks = 1024;  // the same on every GPU, and so are the sums

/// What is summed of dy for a column, here for V of them.
template <int V>
struct ColumnSums {
  Pack<float, V> dweight{}, dbias{};
};

/// The rows of a piece; threadIdx.y takes every blockDim.y-th.
template <class T, int V>
__device__ ColumnSums<V> sums_of_rows(const NormGradient<T>& p, std::int64_t column, std::int64_t begin,
                                      std::int64_t end) {
  ColumnSums<V> sums;
  for (std::int64_t row = begin + threadIdx.y; row < end; row += kTogether * blockDim.y) {
    Pack<T, V> dy[kTogether], value[kTogether];
    float mean[kTogether], rstd[kTogether];
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      const std::int64_t at = row + k * blockDim.y;
      if (at >= end) continue;
      dy[k] = load<V>(p.dy + at * p.width + column);
      value[k] = load<V>(p.sum + at * p.width + column);
      mean[k] = p.mean_of(at);
      rstd[k] = p.rstd[at];
    }
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      if (row + k * blockDim.y >= end) continue;
      for (int j = 0; j < V; ++j) {
        sums.dweight.element[j] += dy[k][j] * (value[k][j] - mean[k]) * rstd[k];
        sums.dbias.element[j] += dy[k][j];
      }
    }
  }
  return sums;
}

__device__ int thread_of_block() { return static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x); }

/// Adds what the block's rows of threads have summed, in their order: thread t gets that of the block's column t.
template <int V>
__device__ float sum_of_block(const Pack<float, V>& sums) {
  alignas(16) __shared__ float part[kColumnThreads * V];
  const int thread = thread_of_block(), columns = static_cast<int>(blockDim.x) * V;
  store(part + thread * V, sums);
  __syncthreads();
  float sum = 0;
  for (int i = 0; thread < columns && i < kColumnThreads * V / columns; ++i) sum += part[i * columns + thread];
  __syncthreads();  // the parts may be written again
  return sum;
}

/// blockIdx.x names some columns, blockIdx.y a piece of the rows, so that the order of addition is fixed. `pieces`
/// [pieces, 2, width] gets its sums of dweight and dbias; where it is null there is one piece.
template <class T, int V>
__global__ void __launch_bounds__(kColumnThreads)
    backward_columns(NormGradient<T> p, std::int64_t piece, float* pieces) {
  const std::int64_t left = static_cast<std::int64_t>(blockIdx.x) * blockDim.x * V, column = left + threadIdx.x * V;
  const std::int64_t begin = blockIdx.y * piece, end = min(begin + piece, p.rows);
  ColumnSums<V> sums;
  if (column < p.width) sums = sums_of_rows<T, V>(p, column, begin, end);
  const float dweight = sum_of_block(sums.dweight), dbias = p.dbias ? sum_of_block(sums.dbias) : 0;
  const std::int64_t mine = left + thread_of_block();
  if (thread_of_block() >= static_cast<int>(blockDim.x) * V || mine >= p.width) return;
  if (pieces) {
    pieces[2 * blockIdx.y * p.width + mine] = dweight;
    pieces[(2 * blockIdx.y + 1) * p.width + mine] = dbias;
  } else {
    p.dweight[mine] += dweight;
    if (p.dbias) p.dbias[mine] += dbias;
  }
}

/// A thread sums a column of some pieces, a block 32 columns.
__global__ void add_pieces(std::int64_t width, int count, const float* pieces, float* dweight, float* dbias) {
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const auto sum = [&](const float* of) {
    Pack<float, 1> some{};
    for (int i = threadIdx.y; column < width && i < count; i += blockDim.y)
      some.element[0] += of[2 * i * width + column];
    return sum_of_block(some);
  };
  const float of_weight = sum(pieces), of_bias = dbias ? sum(pieces + width) : 0;
  if (threadIdx.y > 0 || column >= width) return;
  dweight[column] += of_weight;
  if (dbias) dbias[column] += of_bias;
}

/// dx is written last, so until then it has room for the sums of pieces, unless it is dsum.
template <class T, int V>
void launch_columns(const NormGradient<T>& p, Stream stream) {
  const bool room = V > 1 && p.dx != p.dsum && p.rows > kPieceRows;
  // Without pieces blocks take few columns, so that there are many; they still read whole sectors of memory.
  unsigned lanes = V > 1 ? 4 : kWarp;
  while (room && lanes < kWarp && lanes * V < p.width) lanes *= 2;
  const dim3 threads(lanes, kColumnThreads / lanes);
  const std::int64_t across = (p.width + lanes * V - 1) / (lanes * V);
  const std::int64_t most = room ? std::max<std::int64_t>(kColumnBlocks / across, 1) : 1;
  const std::int64_t piece = room ? std::max(kPieceRows, (p.rows + most - 1) / most) : p.rows;
  const dim3 grid(static_cast<unsigned>(across), static_cast<unsigned>((p.rows + piece - 1) / piece));
  // Two floats of a column are less than what dx holds of it in the rows of a piece.
  auto* const pieces = grid.y > 1 ? reinterpret_cast<float*>(p.dx) : nullptr;
  launch(backward_columns<T, V>, {grid, threads}, stream, p, piece, pieces);
  if (pieces == nullptr) return;
  launch(add_pieces, {static_cast<unsigned>((p.width + kWarp - 1) / kWarp), dim3(kWarp, kColumnThreads / kWarp)},
         stream, p.width, static_cast<int>(grid.y), pieces, p.dweight, p.dbias);
}

}  // namespace
}  // namespace kernels::gpu
