// kernels/quantize.cu -- see quantize.h. Short pieces of a row are scaled and coded by some lanes of a warp, small
// blocks by a block of threads; large ones (a whole tensor) find their largest magnitude by atomics first, piece by
// piece. SPDX-License-Identifier: Apache-2.0
#include <cuda_fp8.h>

#include "kernels/device.cuh"
#include "kernels/fp8.cuh"
#include "kernels/quantize.h"

namespace kernels::gpu {
namespace {

constexpr std::int64_t kSmall = 1 << 15;  // elements of a block that one block of threads reads twice

__device__ __nv_fp8_interpretation_t interpretation(Fp8 format) { return format == Fp8::e4m3 ? __NV_E4M3 : __NV_E5M2; }

__device__ float scale_of(Fp8 format, float largest_magnitude) {
  return largest_magnitude == 0 ? 1 : largest_magnitude / static_cast<float>(kernels::largest(format));
}

/// A rectangle of the matrix under one scale, in packs of V.
template <int V>
struct Area {
  std::int64_t begin, columns;  // its first element's place, and how far the next row's is from there
  int packs, packs_across;

  /// Of `block`, the rows from its `top`-th on, at most `height`.
  __device__ Area(const Quantize& q, std::int64_t block, std::int64_t top, std::int64_t height) : columns(q.columns) {
    const std::int64_t across = (q.columns + q.block_columns - 1) / q.block_columns, down = block / across;
    const std::int64_t left = (block - down * across) * q.block_columns, first = down * q.block_rows + top;
    const std::int64_t last = min(min(first + height, (down + 1) * q.block_rows), q.rows);
    begin = first * columns + left;
    packs_across = static_cast<int>(min(q.block_columns, columns - left) / V);
    packs = first < last ? static_cast<int>(last - first) * packs_across : 0;
  }

  __device__ std::int64_t place(int pack) const {
    const int row = pack / packs_across;
    return begin + row * columns + (pack - row * packs_across) * V;
  }

  /// Calls body(place, pack) for this thread's share.
  template <class T, class Body>
  __device__ void for_each(const T* x, Body body) const {
    const int step = static_cast<int>(blockDim.x);
    for (int i = static_cast<int>(threadIdx.x); i < packs; i += kTogether * step) {
      Pack<T, V> pack[kTogether];
      std::int64_t at[kTogether];
#pragma unroll
      for (int k = 0; k < kTogether; ++k) {
        if (i + k * step >= packs) continue;
        at[k] = place(i + k * step);
        pack[k] = load<V>(x + at[k]);
      }
#pragma unroll
      for (int k = 0; k < kTogether; ++k) {
        if (i + k * step < packs) body(at[k], pack[k]);
      }
    }
  }

  /// Every thread gets the largest.
  template <class T>
  __device__ float magnitude(const T* x) const {
    float found = 0;
    for_each(x, [&](std::int64_t, const Pack<T, V>& pack) { found = fmaxf(found, largest_magnitude_of(pack)); });
    return block_reduce<Maximum>(found);
  }
  template <class T>
  __device__ void encode(Fp8 format, const T* x, float scale, std::uint8_t* codes) const {
    const Divisor divisor(scale);
    for_each(x, [&](std::int64_t at, const Pack<T, V>& pack) {
      store(codes + at, codes_of(format, divisor.quotients(pack)));
    });
  }
};

template <class T, int V>
__global__ void small_blocks(Quantize q, std::int64_t blocks, const T* x, std::uint8_t* codes, float* scales) {
  for (std::int64_t block = blockIdx.x; block < blocks; block += gridDim.x) {
    const Area<V> area(q, block, 0, q.block_rows);
    const float scale = scale_of(q.format, area.magnitude(x));
    area.encode(q.format, x, scale, codes);
    if (threadIdx.x == 0) scales[block] = scale;
  }
}

/// Blocks of one row and no more than `lanes` packs, a power of two that divides a warp: a pack for each lane.
template <class T, int V>
__global__ void short_blocks(Quantize q, std::int64_t blocks, int lanes, const T* x, std::uint8_t* codes,
                             float* scales) {
  const int warp_blocks = kWarp / lanes;
  const std::int64_t across = (q.columns + q.block_columns - 1) / q.block_columns;
  const std::int64_t lane = threadIdx.x % lanes, step = grid_stride() / lanes;
  // All lanes of a warp go on until its first block is behind the last one.
  for (std::int64_t of_warp = grid_index() / kWarp * warp_blocks; of_warp < blocks; of_warp += kTogether * step) {
    Pack<T, V> pack[kTogether];
    std::int64_t at[kTogether];
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      const std::int64_t block = of_warp + threadIdx.x % kWarp / lanes + k * step, row = block / across;
      const std::int64_t left = (block - row * across) * q.block_columns, column = left + lane * V;
      const bool inside = block < blocks && column < min(left + q.block_columns, q.columns);
      at[k] = inside ? row * q.columns + column : -1;
      if (inside) pack[k] = load<V>(x + at[k]);
    }
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      float magnitude = at[k] >= 0 ? largest_magnitude_of(pack[k]) : 0;
      for (int turn = lanes / 2; turn > 0; turn /= 2) {
        magnitude = fmaxf(magnitude, __shfl_xor_sync(kAll, magnitude, turn));
      }
      if (at[k] < 0) continue;
      const float scale = scale_of(q.format, magnitude);
      store(codes + at[k], codes_of(q.format, Divisor(scale).quotients(pack[k])));
      if (lane == 0) scales[of_warp + threadIdx.x % kWarp / lanes + k * step] = scale;
    }
  }
}

/// What the blocks of threads take of large blocks: `rows` rows of one of them, which has `pieces` such pieces.
struct Cut {
  std::int64_t rows, pieces;
};

/// Magnitudes are not negative, so their bits are ordered as they are. REQUIRES: scales are 0.
template <class T, int V>
__global__ void magnitudes(Quantize q, Cut cut, std::int64_t blocks, const T* x, float* scales) {
  for (std::int64_t piece = blockIdx.x; piece < blocks * cut.pieces; piece += gridDim.x) {
    const std::int64_t block = piece / cut.pieces;
    const Area<V> area(q, block, (piece - block * cut.pieces) * cut.rows, cut.rows);
    const float magnitude = area.magnitude(x);
    if (threadIdx.x == 0) atomicMax(reinterpret_cast<int*>(scales + block), __float_as_int(magnitude));
  }
}

__global__ void scales_of(Fp8 format, std::int64_t count, float* scales) {
  for (std::int64_t i = grid_index(); i < count; i += grid_stride()) scales[i] = scale_of(format, scales[i]);
}

/// From the last piece to the first: the last ones were read last, so that caches still hold them.
template <class T, int V>
__global__ void encode(Quantize q, Cut cut, std::int64_t blocks, const T* x, const float* scales, std::uint8_t* codes) {
  for (std::int64_t piece = blocks * cut.pieces - 1 - blockIdx.x; piece >= 0; piece -= gridDim.x) {
    const std::int64_t block = piece / cut.pieces;
    const Area<V> area(q, block, (piece - block * cut.pieces) * cut.rows, cut.rows);
    area.encode(q.format, x, scales[block], codes);
  }
}

/// A block of threads takes some columns, blockIdx.x of them, of every gridDim.y-th row.
template <class T, int V>
__global__ void decode(Quantize q, const std::uint8_t* codes, const float* scales, T* x) {
  const std::int64_t across = (q.columns + q.block_columns - 1) / q.block_columns;
  for (std::int64_t row = blockIdx.y; row < q.rows; row += gridDim.y) {
    const float* const of_row = scales + row / q.block_rows * across;
    for (std::int64_t column = grid_index() * V; column < q.columns; column += grid_stride() * V) {
      const Pack<std::uint8_t, V> code = load<V>(codes + row * q.columns + column);
      const float scale = of_row[column / q.block_columns];
      Pack<T, V> out;
      for (int j = 0; j < V; ++j) {
        out.set(j, __half2float(__half(__nv_cvt_fp8_to_halfraw(code.element[j], interpretation(q.format)))) * scale);
      }
      store(x + row * q.columns + column, out);
    }
  }
}

template <class T, int V>
void large_blocks(const Quantize& q, const T* x, std::uint8_t* codes, float* scales, Stream stream) {
  const std::int64_t count = q.down() * q.across(), width = std::min(q.block_columns, q.columns);
  const std::int64_t rows = std::max<std::int64_t>(kSmall / width, 1);
  const Cut cut{rows, (std::min(q.block_rows, q.rows) + rows - 1) / rows};
  const unsigned grid = blocks_for(count * cut.pieces, 1);
  cudaMemsetAsync(scales, 0, static_cast<std::size_t>(count) * sizeof(float), stream);
  launch(magnitudes<T, V>, {grid, kBlock}, stream, q, cut, count, x, scales);
  launch(scales_of, {blocks_for(count), kBlock}, stream, q.format, count, scales);
  launch(encode<T, V>, {grid, kBlock}, stream, q, cut, count, x, scales, codes);
}

template <class T, int V>
void blocks_of(const Quantize& q, const T* x, std::uint8_t* codes, float* scales, Stream stream) {
  const std::int64_t height = std::min(q.block_rows, q.rows), width = std::min(q.block_columns, q.columns);
  const std::int64_t blocks = q.down() * q.across();
  int lanes = 1;
  while (lanes * V < width && lanes < kWarp) lanes *= 2;
  if (height == 1 && lanes * V >= width) {
    launch(short_blocks<T, V>, {blocks_for(blocks * lanes, kBlock * kTogether), kBlock}, stream, q, blocks, lanes, x,
           codes, scales);
  } else if (height * width <= kSmall) {
    launch(small_blocks<T, V>, {blocks_for(blocks, 1), threads_for(height * width / (V * kTogether))}, stream, q,
           blocks, x, codes, scales);
  } else {
    large_blocks<T, V>(q, x, codes, scales, stream);
  }
}

/// No pack lies in two blocks.
bool wide(const Quantize& q, Element element, const void* x, const void* codes) {
  return packs(element, q.columns, x, codes) && packs(element, std::min(q.block_columns, q.columns));
}

}  // namespace

void quantize(const Quantize& q, Element element, const void* x, std::uint8_t* codes, float* scales, Stream stream) {
  if (q.rows == 0 || q.columns == 0) return;
  with_packs(element, wide(q, element, x, codes),
             [&]<class T, int V>() { blocks_of<T, V>(q, as<T>(x), codes, scales, stream); });
  check_launch("quantize");
}

void dequantize(const Quantize& q, Element element, const std::uint8_t* codes, const float* scales, void* x,
                Stream stream) {
  if (q.rows == 0 || q.columns == 0) return;
  with_packs(element, wide(q, element, x, codes), [&]<class T, int V>() {
    const dim3 grid(blocks_for(q.columns, kBlock * V), static_cast<unsigned>(std::min<std::int64_t>(q.rows, 8192)));
    launch(decode<T, V>, {grid, threads_for(q.columns / V, kBlock)}, stream, q, codes, scales, as<T>(x));
  });
  check_launch("dequantize");
}

}  // namespace kernels::gpu
