// kernels/block_cast.cu -- see block_cast.h. Scales along a row are found by the threads that read it, those along a
// column (of the layout that is turned) in tiles, which go through shared memory so that rows of the layout are
// written. SPDX-License-Identifier: Apache-2.0
#include "kernels/block_cast.h"
#include "kernels/device.cuh"
#include "kernels/fp8.cuh"
#include "kernels/tile.cuh"

namespace kernels::gpu {
namespace {

constexpr int kSide = static_cast<int>(kScaleBlock);
static_assert(kSide == Tile::kSide);

/// As power_scale(): what is divided by it stays exact.
__device__ float scale_for(float magnitude) {
  const int exponent = exponent_for(magnitude);
  return exponent == 0 ? ldexpf(1, -127) : __uint_as_float(static_cast<unsigned>(exponent) << 23);
}

/// A scale is a power of two, so that the product with its inverse is the quotient.
template <class T, int V>
__device__ Pack<std::uint8_t, V> codes_under(float scale, const Pack<T, V>& x) {
  const float inverse = 1 / scale;
  Pack<float, V> quotients;
  for (int j = 0; j < V; ++j) quotients.element[j] = x[j] * inverse;
  return codes_as<__NV_E4M3>(quotients);
}

/// A block of threads a row, all of it under one scale.
template <class T, int V>
__global__ void whole_rows(std::int64_t rows, std::int64_t columns, const T* x, std::uint8_t* codes, float* scales) {
  const std::int64_t first = threadIdx.x * V, step = blockDim.x * V;
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* const from = x + row * columns;
    float magnitude = 0;
#pragma unroll 4
    for (std::int64_t i = first; i < columns; i += step)
      magnitude = fmaxf(magnitude, largest_magnitude_of(load<V>(from + i)));
    const float scale = scale_for(block_reduce<Maximum>(magnitude));
    for (std::int64_t i = first; i < columns; i += step)
      store(codes + row * columns + i, codes_under(scale, load<V>(from + i)));
    if (threadIdx.x == 0) scales[row] = scale;
  }
}

/// A warp takes 32 packs of neighbouring lines, or one line where packs are of one number.
template <class T, int V>
__global__ void lines(std::int64_t rows, std::int64_t columns, const T* x, std::uint8_t* codes, float* scales) {
  constexpr int kLanes = kSide / V < kWarp ? kSide / V : kWarp, kPacks = kSide / V / kLanes, kLines = kWarp / kLanes;
  const int lane = threadIdx.x % kLanes, line = threadIdx.x % kWarp / kLanes;
  const std::int64_t across = (columns + kSide - 1) / kSide, count = rows * across;
  // All lanes of a warp go on until its first line is behind the last one.
  for (std::int64_t of_warp = grid_index() / kWarp * kLines; of_warp < count; of_warp += grid_stride() / kLanes) {
    const std::int64_t number = of_warp + line, row = number / across, left = (number - row * across) * kSide;
    const auto packs = static_cast<int>(number < count ? (min(columns - left, std::int64_t{kSide}) + V - 1) / V : 0);
    const std::int64_t begin = row * columns + left;
    Pack<T, V> pack[kPacks];
    float magnitude = 0;
#pragma unroll
    for (int k = 0; k < kPacks; ++k) {
      if (lane + k * kLanes < packs) pack[k] = load<V>(x + begin + (lane + k * kLanes) * V);
    }
#pragma unroll
    for (int k = 0; k < kPacks; ++k) {
      if (lane + k * kLanes < packs) magnitude = fmaxf(magnitude, largest_magnitude_of(pack[k]));
    }
    for (int turn = kLanes / 2; turn > 0; turn /= 2) {
      magnitude = fmaxf(magnitude, __shfl_xor_sync(kAll, magnitude, turn));
    }
    const float scale = scale_for(magnitude);
#pragma unroll
    for (int k = 0; k < kPacks; ++k) {
      if (lane + k * kLanes < packs) store(codes + begin + (lane + k * kLanes) * V, codes_under(scale, pack[k]));
    }
    if (lane == 0 && packs > 0) scales[place_of_scale(Scales::lines, rows, columns, row, left)] = scale;
  }
}

/// Thread t gets the largest magnitude of the tile's column t, the others nothing.
template <int V, class T>
__device__ float magnitude_of_column(const Tile& tile, const T* x) {
  constexpr int kAcross = kSide / V, kDown = kBlock / kAcross;
  __shared__ float found[kDown][kSide];
  const int column = threadIdx.x % kAcross * V;  // of all packs of this thread, which are whole rows apart
  float magnitude[V] = {};
  tile.for_each<V>(x, [&](int, int, const Pack<T, V>& pack) {
    for (int j = 0; j < V; ++j) magnitude[j] = fmaxf(magnitude[j], fabsf(pack[j]));
  });
  __syncthreads();  // what was found of the last tile is read
  for (int j = 0; j < V; ++j) found[threadIdx.x / kAcross][column + j] = magnitude[j];
  __syncthreads();
  float most = 0;
  for (int i = 0; threadIdx.x < kSide && i < kDown; ++i) most = fmaxf(most, found[i][threadIdx.x]);
  return most;
}

/// Of whole columns, to where their scales will be. REQUIRES: zeros there.
template <class T, int V>
__global__ void column_magnitudes(std::int64_t rows, std::int64_t columns, const T* x, float* magnitudes) {
  for (std::int64_t number = blockIdx.x; number < tiles_of(rows, columns); number += gridDim.x) {
    const Tile tile(rows, columns, number);
    const float most = magnitude_of_column<V>(tile, x);  // not negative, so its bits are ordered as it is
    if (static_cast<int>(threadIdx.x) >= tile.width) continue;
    atomicMax(reinterpret_cast<int*>(magnitudes + tile.left + threadIdx.x), __float_as_int(most));
  }
}

__global__ void scales_for(std::int64_t count, float* scales) {
  for (std::int64_t i = grid_index(); i < count; i += grid_stride()) scales[i] = scale_for(scales[i]);
}

/// A tile's columns are pieces of rows of `turned`. Of lines, each piece has a scale, which is found here; of rows the
/// scales are known.
template <class T, int V, int W>
__global__ void turned_tiles(Scales kind, std::int64_t rows, std::int64_t columns, const T* x, std::uint8_t* turned,
                             float* scales) {
  __shared__ TileOfCodes tile_of_codes;
  __shared__ float inverse[kSide];
  for (std::int64_t number = blockIdx.x; number < tiles_of(rows, columns); number += gridDim.x) {
    const Tile tile(rows, columns, number);
    const int own = static_cast<int>(threadIdx.x);
    if (kind == Scales::lines) {
      const float scale = scale_for(magnitude_of_column<V>(tile, x));
      if (own < tile.width) scales[place_of_scale(kind, columns, rows, tile.left + own, tile.top)] = scale;
      if (own < kSide) inverse[own] = 1 / scale;
    } else if (own < tile.width) {
      inverse[own] = 1 / scales[tile.left + own];
    }
    __syncthreads();
    tile.for_each<V>(x, [&](int row, int column, const Pack<T, V>& pack) {
      Pack<float, V> quotients;
      for (int j = 0; j < V; ++j) quotients.element[j] = pack[j] * inverse[column + j];
      tile_of_codes.put(row, column, codes_as<__NV_E4M3>(quotients));
    });
    __syncthreads();
    tile_of_codes.write_turned<W>(tile, turned);
    __syncthreads();  // the next tile's codes take their place
  }
}

template <class T, int V, int W>
__global__ void squares(std::int64_t rows, std::int64_t columns, const T* x, std::uint8_t* codes, float* scales,
                        std::uint8_t* turned, float* turned_scales) {
  __shared__ TileOfCodes tile_of_codes;
  for (std::int64_t number = blockIdx.x; number < tiles_of(rows, columns); number += gridDim.x) {
    const Tile tile(rows, columns, number);
    float magnitude = 0;
    tile.for_each<V>(
        x, [&](int, int, const Pack<T, V>& pack) { magnitude = fmaxf(magnitude, largest_magnitude_of(pack)); });
    const float scale = scale_for(block_reduce<Maximum>(magnitude));
    tile.for_each<V>(x, [&](int row, int column, const Pack<T, V>& pack) {
      const Pack<std::uint8_t, V> of_pack = codes_under(scale, pack);
      if (codes != nullptr) store(codes + tile.place(row, column), of_pack);
      if (turned != nullptr) tile_of_codes.put(row, column, of_pack);
    });
    if (threadIdx.x == 0 && codes != nullptr) {
      scales[place_of_scale(Scales::squares, rows, columns, tile.top, tile.left)] = scale;
    }
    if (turned == nullptr) continue;
    if (threadIdx.x == 0) turned_scales[place_of_scale(Scales::squares, columns, rows, tile.left, tile.top)] = scale;
    __syncthreads();
    tile_of_codes.write_turned<W>(tile, turned);
    __syncthreads();  // the next tile's codes take their place
  }
}

void clear(Scales kind, std::int64_t rows, std::int64_t columns, float* scales, Stream stream) {
  if (scales == nullptr) return;
  cudaMemsetAsync(scales, 0, static_cast<std::size_t>(count_scales(kind, rows, columns)) * sizeof(float), stream);
}

template <class T, int V>
void along_rows(const BlockCast& c, const T* x, std::uint8_t* codes, float* scales, Stream stream) {
  if (codes == nullptr) return;
  if (c.scales == Scales::rows) {
    launch(whole_rows<T, V>, {blocks_for(c.rows, 1), threads_for(c.columns / V, kBlock)}, stream, c.rows, c.columns, x,
           codes, scales);
  } else {
    const std::int64_t lanes = c.rows * scale_blocks(c.columns) * std::min(kSide / V, kWarp);
    launch(lines<T, V>, {blocks_for(lanes), kBlock}, stream, c.rows, c.columns, x, codes, scales);
  }
}

template <class T, int V, int W>
void along_columns(const BlockCast& c, const T* x, std::uint8_t* turned, float* scales, Stream stream) {
  if (turned == nullptr) return;
  const Grid grid{blocks_for(tiles_of(c.rows, c.columns), 1), kBlock};
  if (c.scales == Scales::rows) {
    launch(column_magnitudes<T, V>, grid, stream, c.rows, c.columns, x, scales);
    launch(scales_for, {blocks_for(c.columns), kBlock}, stream, c.columns, scales);
  }
  launch(turned_tiles<T, V, W>, grid, stream, c.scales, c.rows, c.columns, x, turned, scales);
}

}  // namespace

void block_cast(const BlockCast& c, Element element, const void* x, std::uint8_t* codes, float* scales,
                std::uint8_t* turned, float* turned_scales, Stream stream) {
  if (c.rows == 0 || c.columns == 0) return;
  clear(c.scales, c.rows, c.columns, scales, stream);
  clear(c.scales, c.columns, c.rows, turned_scales, stream);
  with_packs(element, packs(element, c.columns, x, codes), [&]<class T, int V>() {
    with_turned(c.rows, turned, [&]<int W>() {
      if (c.scales == Scales::squares) {
        launch(squares<T, V, W>, {blocks_for(tiles_of(c.rows, c.columns), 1), kBlock}, stream, c.rows, c.columns,
               as<T>(x), codes, scales, turned, turned_scales);
        return;
      }
      along_rows<T, V>(c, as<T>(x), codes, scales, stream);
      along_columns<T, V, W>(c, as<T>(x), turned, turned_scales, stream);
    });
  });
  check_launch("block_cast");
}

}  // namespace kernels::gpu
