// kernels/norm.cu -- see norm.h. A block takes a row; the gradients of weight and bias are sums over columns, of pieces
// of the rows first where there is room for such sums. SPDX-License-Identifier: Apache-2.0
#include "kernels/device.cuh"
#include "kernels/norm.h"

namespace kernels::gpu {
namespace {

template <class T>
struct Forward {
  std::int64_t rows, width;
  float epsilon;
  bool centred;
  const T *x, *residual, *weight, *bias;
  T *sum, *y;
  float *mean, *rstd;

  /// x + residual, rounded as `sum` keeps it.
  template <int V>
  __device__ Pack<T, V> value(std::int64_t at) const {
    Pack<T, V> pack = load<V>(x + at);
    if (residual) {
      const Pack<T, V> other = load<V>(residual + at);
      for (int j = 0; j < V; ++j) pack.set(j, pack[j] + other[j]);
    }
    return pack;
  }
};

template <class T, int V>
__global__ void normalize(Forward<T> p) {
  const auto width = static_cast<float>(p.width);
  for (std::int64_t row = blockIdx.x; row < p.rows; row += gridDim.x) {
    const std::int64_t begin = row * p.width;
    const std::int64_t first = threadIdx.x * V, stride = blockDim.x * V;
    float mean = 0, square = 0;
    if (p.centred) {
      for (std::int64_t i = first; i < p.width; i += stride) {
        const Pack<T, V> value = p.template value<V>(begin + i);
        for (int j = 0; j < V; ++j) mean += value[j];
      }
      mean = block_reduce(mean) / width;
    }
    for (std::int64_t i = first; i < p.width; i += stride) {
      const Pack<T, V> value = p.template value<V>(begin + i);
      for (int j = 0; j < V; ++j) square += (value[j] - mean) * (value[j] - mean);
    }
    const float rstd = rsqrtf(block_reduce(square) / width + p.epsilon);
    for (std::int64_t i = first; i < p.width; i += stride) {
      const Pack<T, V> value = p.template value<V>(begin + i), weight = load<V>(p.weight + i);
      Pack<T, V> y;
      for (int j = 0; j < V; ++j)
        y.set(j, (value[j] - mean) * rstd * weight[j] + (p.bias ? to_float(p.bias[i + j]) : 0));
      if (p.sum) store(p.sum + begin + i, value);
      store(p.y + begin + i, y);
    }
    if (threadIdx.x == 0) {
      p.rstd[row] = rstd;
      if (p.mean) p.mean[row] = mean;
    }
  }
}

template <class T>
struct Backward {
  std::int64_t rows, width;
  bool centred;
  const T *sum, *weight, *dy, *dsum;
  const float *mean, *rstd;
  T* dx;
  float *dweight, *dbias;

  __device__ float mean_of(std::int64_t row) const { return centred ? mean[row] : 0; }
};

/// One pack of each array in registers; of rows that are longer than a block of threads the rest is read again.
template <class T, int V>
struct RowPack {
  Pack<T, V> dy, weight, value;

  RowPack() = default;
  __device__ RowPack(const Backward<T>& p, std::int64_t begin, std::int64_t i)
      : dy(load<V>(p.dy + begin + i)), weight(load<V>(p.weight + i)), value(load<V>(p.sum + begin + i)) {}

  __device__ void add_to(float mean, float rstd, float& shift, float& along) const {
    for (int j = 0; j < V; ++j) {
      const float g = dy[j] * weight[j];
      shift += g;
      along += g * (value[j] - mean) * rstd;
    }
  }
  __device__ Pack<T, V> gradient(float mean, float rstd, float shift, float along, const T* dsum) const {
    Pack<T, V> path{}, dx;
    if (dsum) path = load<V>(dsum);
    for (int j = 0; j < V; ++j) {
      const float normal = (value[j] - mean) * rstd;
      dx.set(j, (dy[j] * weight[j] - shift - normal * along) * rstd + path[j]);
    }
    return dx;
  }
};

/// From the last row to the first: the columns' sums read the last ones last, so that caches still hold them.
template <class T, int V>
__global__ void __launch_bounds__(kRowThreads, kRowBlocks) backward_rows(Backward<T> p) {
  const auto width = static_cast<float>(p.width);
  const std::int64_t first = threadIdx.x * V, stride = blockDim.x * V;
  for (std::int64_t row = p.rows - 1 - blockIdx.x; row >= 0; row -= gridDim.x) {
    const std::int64_t begin = row * p.width;
    const T* const path = p.dsum ? p.dsum + begin : nullptr;
    RowPack<T, V> kept;
    if (first < p.width) kept = RowPack<T, V>(p, begin, first);
    const float mean = p.mean_of(row), rstd = p.rstd[row];
    float shift = 0, along = 0;  // as in the reference
    if (first < p.width) kept.add_to(mean, rstd, shift, along);
    for (std::int64_t i = first + stride; i < p.width; i += stride) {
      RowPack<T, V>(p, begin, i).add_to(mean, rstd, shift, along);
    }
    shift = p.centred ? block_reduce(shift) / width : 0;
    along = block_reduce(along) / width;
    T* const to = p.dx + begin;
    if (first < p.width) store(to + first, kept.gradient(mean, rstd, shift, along, path ? path + first : nullptr));
    for (std::int64_t i = first + stride; i < p.width; i += stride) {
      store(to + i, RowPack<T, V>(p, begin, i).gradient(mean, rstd, shift, along, path ? path + i : nullptr));
    }
  }
}

constexpr int kColumnThreads = 256;
constexpr std::int64_t kPieceRows = 128, kColumnBlocks = 1024;  // the same on every GPU, and so are the sums

/// What is summed of dy for a column, here for V of them.
template <int V>
struct ColumnSums {
  Pack<float, V> dweight{}, dbias{};
};

/// The rows of a piece; threadIdx.y takes every blockDim.y-th.
template <class T, int V>
__device__ ColumnSums<V> sums_of_rows(const Backward<T>& p, std::int64_t column, std::int64_t begin, std::int64_t end) {
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
__global__ void __launch_bounds__(kColumnThreads) backward_columns(Backward<T> p, std::int64_t piece, float* pieces) {
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
void launch_columns(const Backward<T>& p, Stream stream) {
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

void norm_forward(const Norm& n, Element element, const void* x, const void* residual, const void* weight,
                  const void* bias, void* sum, void* y, float* mean, float* rstd, Stream stream) {
  if (n.rows == 0) return;
  with_packs(element, packs(element, n.width, x, residual, weight, sum, y), [&]<class T, int V>() {
    const Forward<T> arguments{n.rows,
                               n.width,
                               static_cast<float>(n.epsilon),
                               n.kind == NormKind::layer,
                               as<T>(x),
                               as<T>(residual),
                               as<T>(weight),
                               as<T>(bias),
                               as<T>(sum),
                               as<T>(y),
                               mean,
                               rstd};
    launch(normalize<T, V>, {blocks_for(n.rows, 1), threads_for(n.width / V)}, stream, arguments);
  });
  check_launch("norm forward");
}

void norm_backward(const Norm& n, Element element, const void* sum, const void* weight, const float* mean,
                   const float* rstd, const void* dy, const void* dsum, void* dx, float* dweight, float* dbias,
                   Stream stream) {
  if (n.rows == 0) return;
  with_packs(element, packs(element, n.width, sum, weight, dy, dsum, dx), [&]<class T, int V>() {
    const Backward<T> arguments{n.rows,      n.width,       n.kind == NormKind::layer,
                                as<T>(sum),  as<T>(weight), as<T>(dy),
                                as<T>(dsum), mean,          rstd,
                                as<T>(dx),   dweight,       dbias};
    // The columns first: dx may take the place of dsum, never of sum or dy.
    launch_columns<T, V>(arguments, stream);
    launch(backward_rows<T, V>, {blocks_for(n.rows, 1), threads_for(n.width / V, kRowThreads)}, stream, arguments);
  });
  check_launch("norm backward");
}

}  // namespace kernels::gpu
