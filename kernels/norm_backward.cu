// kernels/norm_backward.cu -- see norm.h. A block takes a piece of the rows, reads each row once, writes its dx and
// keeps the piece's sums over columns in registers. They then have no room but dx itself: the last rows of each piece
// get theirs in a second round. Where that cannot be, columns are summed by kernels of their own (columns.cuh).
// SPDX-License-Identifier: Apache-2.0
#include "kernels/columns.cuh"
#include "kernels/norm.h"

namespace kernels::gpu {
namespace {

/// Pieces of the rows, as many on every GPU, and so are the sums. Until the second round the place in dx of the last
/// `late` rows of a piece holds the piece's sums.
struct Pieces {
  std::int64_t rows, each;
  int count, late;

  __host__ __device__ std::int64_t end(std::int64_t piece) const {
    return piece + 1 == count ? rows : (piece + 1) * each;
  }
  __host__ __device__ std::int64_t first_late(std::int64_t piece) const { return end(piece) - late; }
};

/// One pack of each array in registers; of rows that are longer than a block of threads the rest is read again.
template <class T, int V>
struct RowPack {
  Pack<T, V> dy, weight, value;

  RowPack() = default;
  __device__ RowPack(const NormGradient<T>& p, std::int64_t begin, std::int64_t i)
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

/// dx of all rows; of pieces the late ones. From the last row to the first: the kernel in front read the last ones
/// last, so that caches still hold them.
template <class T, int V>
__global__ void __launch_bounds__(kRowThreads, kRowBlocks) backward_rows(NormGradient<T> p, Pieces pieces) {
  const auto width = static_cast<float>(p.width);
  const std::int64_t first = threadIdx.x * V, stride = blockDim.x * V;
  const std::int64_t rows = pieces.count > 0 ? std::int64_t{pieces.late} * pieces.count : p.rows;
  for (std::int64_t number = rows - 1 - blockIdx.x; number >= 0; number -= gridDim.x) {
    const std::int64_t row = pieces.count > 0 ? pieces.first_late(number / pieces.late) + number % pieces.late : number;
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

/// The sums of two numbers over a block; every thread gets both. One barrier: `turn` names the half of the shared
/// memory that the call before did not use.
__device__ float2 block_sums(float a, float b, int turn) {
  __shared__ float2 of_warp[2][kWarp];
  a = warp_reduce(a);
  b = warp_reduce(b);
  if (threadIdx.x % kWarp == 0) of_warp[turn][threadIdx.x / kWarp] = {a, b};
  __syncthreads();
  const bool mine = threadIdx.x % kWarp < blockDim.x / kWarp;
  const float2 part = mine ? of_warp[turn][threadIdx.x % kWarp] : float2{0, 0};
  return {warp_reduce(part.x), warp_reduce(part.y)};
}

/// K packs of a row that a thread takes, a block of threads apart.
template <class T, int V, int K>
struct RowShare {
  Pack<T, V> dy[K], value[K];
  float mean = 0, rstd = 0;
};

/// The next row is on its way while one is worked on. Registers: a block of an SM where a thread keeps two packs or
/// sums of both weight and bias, kRowBlocks elsewhere: so none spills, but for 56 bytes of a thread on Blackwell.
template <class T, int V, int K, bool kCentred>
__global__ void __launch_bounds__(kRowThreads, K == 1 && !kCentred ? kRowBlocks : 1)
    backward_pieces(NormGradient<T> p, Pieces pieces) {
  const auto width = static_cast<float>(p.width);
  const std::int64_t begin = blockIdx.x * pieces.each, end = pieces.end(blockIdx.x);
  const std::int64_t own = threadIdx.x * V, step = blockDim.x * V;
  Pack<T, V> weight[K];
  Pack<float, V> dweight[K], dbias[kCentred ? K : 1];
  const auto fetch = [&](std::int64_t row) {
    RowShare<T, V, K> share;
#pragma unroll
    for (int k = 0; k < K; ++k) {
      if (own + k * step >= p.width) continue;
      share.dy[k] = load<V>(p.dy + row * p.width + own + k * step);
      share.value[k] = load<V>(p.sum + row * p.width + own + k * step);
    }
    share.mean = kCentred ? p.mean[row] : 0;
    share.rstd = p.rstd[row];
    return share;
  };
#pragma unroll
  for (int k = 0; k < K; ++k) {
    dweight[k] = {};
    if (kCentred) dbias[k] = {};
    if (own + k * step < p.width) weight[k] = load<V>(p.weight + own + k * step);
  }
  RowShare<T, V, K> next = fetch(begin);
  for (std::int64_t row = begin; row < end; ++row) {
    const RowShare<T, V, K> now = next;
    if (row + 1 < end) next = fetch(row + 1);
    float shift = 0, along = 0;  // as in the reference
#pragma unroll
    for (int k = 0; k < K; ++k) {
      if (own + k * step >= p.width) continue;
      for (int j = 0; j < V; ++j) {
        const float g = now.dy[k][j], normal = (now.value[k][j] - now.mean) * now.rstd;
        dweight[k].element[j] += g * normal;
        if (kCentred) dbias[k].element[j] += g;
        shift += g * weight[k][j];
        along += g * weight[k][j] * normal;
      }
    }
    const float2 sums = block_sums(shift, along, static_cast<int>(row & 1));
    if (row >= pieces.first_late(blockIdx.x)) continue;
    shift = kCentred ? sums.x / width : 0;
    along = sums.y / width;
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const std::int64_t at = row * p.width + own + k * step;
      if (own + k * step >= p.width) continue;
      Pack<T, V> path{}, dx;
      if (p.dsum) path = load<V>(p.dsum + at);
      for (int j = 0; j < V; ++j) {
        const float normal = (now.value[k][j] - now.mean) * now.rstd;
        dx.set(j, (now.dy[k][j] * weight[k][j] - shift - normal * along) * now.rstd + path[j]);
      }
      store(p.dx + at, dx);
    }
  }
  auto* const to = reinterpret_cast<float*>(p.dx + pieces.first_late(blockIdx.x) * p.width);
#pragma unroll
  for (int k = 0; k < K; ++k) {
    if (own + k * step >= p.width) continue;
    store(to + own + k * step, dweight[k]);
    if (kCentred) store(to + p.width + own + k * step, dbias[k]);
  }
}

/// A thread sums a column of some pieces, a block 32 columns.
template <class T>
__global__ void add_late_pieces(NormGradient<T> p, Pieces pieces) {
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const auto sum = [&](std::int64_t behind) {
    Pack<float, 1> some{};
#pragma unroll 8
    for (int i = threadIdx.y; i < pieces.count; i += blockDim.y) {
      const auto* from = reinterpret_cast<const float*>(p.dx + pieces.first_late(i) * p.width);
      if (column < p.width) some.element[0] += from[behind + column];
    }
    return sum_of_block(some);
  };
  const float of_weight = sum(0), of_bias = p.centred ? sum(p.width) : 0;
  if (threadIdx.y > 0 || column >= p.width) return;
  p.dweight[column] += of_weight;
  if (p.dbias) p.dbias[column] += of_bias;
}

template <class T, int V, int K>
void launch_pieces(const NormGradient<T>& p, const Pieces& pieces, Stream stream) {
  const Grid grid{static_cast<unsigned>(pieces.count), threads_for((p.width / V + K - 1) / K, kRowThreads)};
  p.centred ? launch(backward_pieces<T, V, K, true>, grid, stream, p, pieces)
            : launch(backward_pieces<T, V, K, false>, grid, stream, p, pieces);
  launch(add_late_pieces<T>,
         {static_cast<unsigned>((p.width + kWarp - 1) / kWarp), dim3(kWarp, kColumnThreads / kWarp)}, stream, p,
         pieces);
  launch(backward_rows<T, V>,
         {blocks_for(std::int64_t{pieces.count} * pieces.late, 1), threads_for(p.width / V, kRowThreads)}, stream, p,
         pieces);
}

/// False where sums have no room in dx, and where rows are too long for a block's registers or leave most of it idle.
template <class T, int V>
bool in_pieces(const NormGradient<T>& p, Stream stream) {
  constexpr std::int64_t kFewestRows = 8, kMostPieces = 512, kFewestPacks = 128;
  const std::int64_t packs = p.width / V, each = std::max(kFewestRows, p.rows / kMostPieces);
  const auto count = static_cast<int>(p.rows / each);
  if (p.dx == p.dsum || count < 2 || packs < kFewestPacks || packs > 2 * kRowThreads) return false;
  const Pieces pieces{p.rows, each, count, static_cast<int>((p.centred ? 2 : 1) * sizeof(float) / sizeof(T))};
  packs <= kRowThreads ? launch_pieces<T, V, 1>(p, pieces, stream) : launch_pieces<T, V, 2>(p, pieces, stream);
  return true;
}

}  // namespace

void norm_backward(const Norm& n, Element element, const void* sum, const void* weight, const float* mean,
                   const float* rstd, const void* dy, const void* dsum, void* dx, float* dweight, float* dbias,
                   Stream stream) {
  if (n.rows == 0) return;
  with_packs(element, packs(element, n.width, sum, weight, dy, dsum, dx), [&]<class T, int V>() {
    const NormGradient<T> arguments{n.rows,      n.width,       n.kind == NormKind::layer,
                                    as<T>(sum),  as<T>(weight), as<T>(dy),
                                    as<T>(dsum), mean,          rstd,
                                    as<T>(dx),   dweight,       dbias};
    if constexpr (V > 1) {
      if (in_pieces<T, V>(arguments, stream)) return;
    }
    // The columns first: dx may take the place of dsum, never of sum or dy.
    launch_columns<T, V>(arguments, stream);
    launch(backward_rows<T, V>, {blocks_for(n.rows, 1), threads_for(n.width / V, kRowThreads)}, stream, arguments,
           Pieces{});
  });
  check_launch("norm backward");
}

}  // namespace kernels::gpu
