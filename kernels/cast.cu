// kernels/cast.cu -- see cast.h. A block of threads takes tiles of 64 x 64 through shared memory, so that both layouts
// are written along their rows. SPDX-License-Identifier: Apache-2.0
#include "kernels/cast.h"
#include "kernels/device.cuh"
#include "kernels/fp8.cuh"

namespace kernels::gpu {
namespace {

constexpr int kTile = 64, kStep = kBlock / kTile;  // rows of a tile that a block reads at once

/// Magnitudes are not negative, so their bits are ordered as they are.
__device__ void raise(float* magnitude, float to) {
  to = block_reduce<Maximum>(to);
  if (threadIdx.x == 0 && to > 0) atomicMax(reinterpret_cast<int*>(magnitude), __float_as_int(to));
}

template <class T>
__global__ void largest(std::int64_t count, const T* x, float* magnitude) {
  float found = 0;
  for (std::int64_t i = grid_index(); i < count; i += grid_stride()) found = fmaxf(found, fabsf(to_float(x[i])));
  raise(magnitude, found);
}

__global__ void scale_of_tensor(float largest_of_format, const float* magnitude, float* scale) {
  *scale = *magnitude == 0 ? 1 : *magnitude / largest_of_format;
}

/// Asks read(place) for each code of the matrix; writes them where they are wanted.
template <class Read>
__device__ void tiles(std::int64_t rows, std::int64_t columns, std::uint8_t* codes, std::uint8_t* turned, Read read) {
  __shared__ std::uint8_t tile[kTile][kTile + 4];
  const std::int64_t across = (columns + kTile - 1) / kTile, count = (rows + kTile - 1) / kTile * across;
  const int lane = threadIdx.x % kTile, line = threadIdx.x / kTile;
  for (std::int64_t number = blockIdx.x; number < count; number += gridDim.x) {
    const std::int64_t top = number / across * kTile, left = number % across * kTile;
    for (int i = line; i < kTile; i += kStep) {
      const std::int64_t row = top + i, column = left + lane;
      if (row >= rows || column >= columns) continue;
      const std::uint8_t code = read(row * columns + column);
      if (codes != nullptr) codes[row * columns + column] = code;
      tile[i][lane] = code;
    }
    __syncthreads();
    for (int i = line; turned != nullptr && i < kTile; i += kStep) {
      const std::int64_t row = top + lane, column = left + i;
      if (row < rows && column < columns) turned[column * rows + row] = tile[lane][i];
    }
    __syncthreads();  // the tile is written again
  }
}

template <class T>
__global__ void encode_tiles(Cast c, const T* x, const float* scale, std::uint8_t* codes, std::uint8_t* turned,
                             float* magnitude) {
  const float unit = *scale;
  float found = 0;
  tiles(c.rows, c.columns, codes, turned, [&](std::int64_t at) {
    const float value = to_float(x[at]);
    found = fmaxf(found, fabsf(value));
    return code_of(c.format, value / unit);
  });
  if (magnitude != nullptr) raise(magnitude, found);
}

__global__ void transpose(std::int64_t rows, std::int64_t columns, const std::uint8_t* codes, std::uint8_t* turned) {
  tiles(rows, columns, nullptr, turned, [&](std::int64_t at) { return codes[at]; });
}

unsigned blocks_of(std::int64_t rows, std::int64_t columns) {
  return blocks_for((rows + kTile - 1) / kTile * ((columns + kTile - 1) / kTile), 1);
}

}  // namespace

void largest_magnitude(std::int64_t count, Element element, const void* x, float* magnitude, Stream stream) {
  if (count == 0) return;
  with_element(element, [&]<class T>() {
    launch(largest<T>, {blocks_for(count), kBlock}, stream, count, as<T>(x), magnitude);
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
  with_element(element, [&]<class T>() {
    launch(encode_tiles<T>, {blocks_of(c.rows, c.columns), kBlock}, stream, c, as<T>(x), scale, codes, turned,
           magnitude);
  });
  check_launch("cast");
}

void turn(std::int64_t rows, std::int64_t columns, const std::uint8_t* codes, std::uint8_t* turned, Stream stream) {
  if (rows == 0 || columns == 0) return;
  launch(transpose, {blocks_of(rows, columns), kBlock}, stream, rows, columns, codes, turned);
  check_launch("turn");
}

}  // namespace kernels::gpu
