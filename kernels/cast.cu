// kernels/cast.cu -- see cast.h. A block of threads takes tiles through shared memory, so that both layouts are written
// along their rows. SPDX-License-Identifier: Apache-2.0
#include "kernels/cast.h"
#include "kernels/device.cuh"
#include "kernels/fp8.cuh"
#include "kernels/tile.cuh"

namespace kernels::gpu {
namespace {

/// Magnitudes are not negative, so their bits are ordered as they are.
__device__ void raise(float* magnitude, float to) {
  to = block_reduce<Maximum>(to);
  if (threadIdx.x == 0 && to > 0) atomicMax(reinterpret_cast<int*>(magnitude), __float_as_int(to));
}

template <class T, int V>
__global__ void largest(std::int64_t count, const T* x, float* magnitude) {
  float found = 0;
  for (std::int64_t i = grid_index() * V; i < count; i += kTogether * grid_stride() * V) {
    Pack<T, V> pack[kTogether];
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      if (i + k * grid_stride() * V < count) pack[k] = load<V>(x + i + k * grid_stride() * V);
    }
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      if (i + k * grid_stride() * V < count) found = fmaxf(found, largest_magnitude_of(pack[k]));
    }
  }
  raise(magnitude, found);
}

__global__ void scale_of_tensor(float largest_of_format, const float* magnitude, float* scale) {
  *scale = *magnitude == 0 ? 1 : *magnitude / largest_of_format;
}

template <class T, int V, int W>
__global__ void encode_tiles(Cast c, const T* x, const float* scale, std::uint8_t* codes, std::uint8_t* turned,
                             float* magnitude) {
  __shared__ TileOfCodes tile_of_codes;
  const Divisor unit(*scale);
  float found = 0;
  for (std::int64_t number = blockIdx.x; number < tiles_of(c.rows, c.columns); number += gridDim.x) {
    const Tile tile(c.rows, c.columns, number);
    tile.for_each<V>(x, [&](int row, int column, const Pack<T, V>& pack) {
      const Pack<std::uint8_t, V> of_pack = codes_of(c.format, unit.quotients(pack));
      if (magnitude != nullptr) found = fmaxf(found, largest_magnitude_of(pack));
      if (codes != nullptr) store(codes + tile.place(row, column), of_pack);
      if (turned != nullptr) tile_of_codes.put(row, column, of_pack);
    });
    if (turned == nullptr) continue;
    __syncthreads();
    tile_of_codes.write_turned<W>(tile, turned);
    __syncthreads();  // the next tile's codes take their place
  }
  if (magnitude != nullptr) raise(magnitude, found);
}

template <int V, int W>
__global__ void transpose(std::int64_t rows, std::int64_t columns, const std::uint8_t* codes, std::uint8_t* turned) {
  __shared__ TileOfCodes tile_of_codes;
  for (std::int64_t number = blockIdx.x; number < tiles_of(rows, columns); number += gridDim.x) {
    const Tile tile(rows, columns, number);
    tile.for_each<V>(
        codes, [&](int row, int column, const Pack<std::uint8_t, V>& pack) { tile_of_codes.put(row, column, pack); });
    __syncthreads();
    tile_of_codes.write_turned<W>(tile, turned);
    __syncthreads();  // the next tile's codes take their place
  }
}

}  // namespace

void largest_magnitude(std::int64_t count, Element element, const void* x, float* magnitude, Stream stream) {
  if (count == 0) return;
  with_packs(element, packs(element, count, x), [&]<class T, int V>() {
    launch(largest<T, V>, {blocks_for(count, kBlock * kTogether * V, kFewBlocks), kBlock}, stream, count, as<T>(x),
           magnitude);
  });
  check_launch("largest_magnitude");
}

void scale_for(Fp8 format, const float* magnitude, float* to, Stream stream) {
  launch(scale_of_tensor, {1, 1}, stream, static_cast<float>(kernels::largest(format)), magnitude, to);
  check_launch("scale_for");
}

void cast(const Cast& c, Element element, const void* x, const float* scale, std::uint8_t* codes, std::uint8_t* turned,
          float* magnitude, Stream stream) {
  if (c.rows == 0 || c.columns == 0) return;
  with_packs(element, packs(element, c.columns, x, codes), [&]<class T, int V>() {
    with_turned(c.rows, turned, [&]<int W>() {
      launch(encode_tiles<T, V, W>, {blocks_for(tiles_of(c.rows, c.columns), 1, kFewBlocks), kBlock}, stream, c,
             as<T>(x), scale, codes, turned, magnitude);
    });
  });
  check_launch("cast");
}

void turn(std::int64_t rows, std::int64_t columns, const std::uint8_t* codes, std::uint8_t* turned, Stream stream) {
  if (rows == 0 || columns == 0) return;
  with_turned(columns, codes, [&]<int V>() {
    with_turned(rows, turned, [&]<int W>() {
      launch(transpose<V, W>, {blocks_for(tiles_of(rows, columns), 1), kBlock}, stream, rows, columns, codes, turned);
    });
  });
  check_launch("turn");
}

}  // namespace kernels::gpu
