// kernels/block_cast.cu -- see block_cast.h. Scales along a row are found by the threads that read it, those along a
// column (of the layout that is turned) by a block of threads that reads 32 columns side by side and writes them in
// tiles through shared memory. SPDX-License-Identifier: Apache-2.0
#include "kernels/block_cast.h"
#include "kernels/device.cuh"
#include "kernels/fp8.cuh"

namespace kernels::gpu {
namespace {

constexpr int kSide = static_cast<int>(kScaleBlock);

/// As power_scale(): what is divided by it stays exact.
__device__ float scale_for(float magnitude) {
  const int exponent = exponent_for(magnitude);
  return exponent == 0 ? ldexpf(1, -127) : __uint_as_float(static_cast<unsigned>(exponent) << 23);
}

/// A block of threads a row, all of it under one scale.
template <class T>
__global__ void whole_rows(std::int64_t rows, std::int64_t columns, const T* x, std::uint8_t* codes, float* scales) {
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* const from = x + row * columns;
    float magnitude = 0;
    for (std::int64_t i = threadIdx.x; i < columns; i += blockDim.x)
      magnitude = fmaxf(magnitude, fabsf(to_float(from[i])));
    const float scale = scale_for(block_reduce<Maximum>(magnitude));
    for (std::int64_t i = threadIdx.x; i < columns; i += blockDim.x)
      codes[row * columns + i] = code_of(Fp8::e4m3, to_float(from[i]) / scale);
    if (threadIdx.x == 0) scales[row] = scale;
  }
}

/// A warp a line of 128.
template <class T>
__global__ void lines(std::int64_t rows, std::int64_t columns, const T* x, std::uint8_t* codes, float* scales) {
  const int lane = threadIdx.x % kWarp;
  const std::int64_t across = (columns + kSide - 1) / kSide, count = rows * across;
  const std::int64_t first = grid_index() / kWarp, step = grid_stride() / kWarp;
  for (std::int64_t number = first; number < count; number += step) {
    const std::int64_t row = number / across, left = number % across * kSide, right = min(left + kSide, columns);
    float magnitude = 0;
    for (std::int64_t i = left + lane; i < right; i += kWarp) {
      magnitude = fmaxf(magnitude, fabsf(to_float(x[row * columns + i])));
    }
    const float scale = scale_for(warp_reduce<Maximum>(magnitude));
    for (std::int64_t i = left + lane; i < right; i += kWarp) {
      codes[row * columns + i] = code_of(Fp8::e4m3, to_float(x[row * columns + i]) / scale);
    }
    if (lane == 0) scales[place_of_scale(Scales::lines, rows, columns, row, left)] = scale;
  }
}

/// Columns [left, left + 32) of rows [top, bottom): each column has a scale, and is a piece of a row of `turned`.
template <class T>
__device__ void column_piece(Scales kind, std::int64_t rows, std::int64_t columns, std::int64_t left, std::int64_t top,
                             std::int64_t bottom, const T* x, std::uint8_t* turned, float* scales) {
  __shared__ float found[kWarps][kWarp];
  __shared__ std::uint8_t tile[kWarp][kWarp + 4];
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const std::int64_t column = left + lane;
  float magnitude = 0;
  for (std::int64_t row = top + warp; row < bottom && column < columns; row += kWarps) {
    magnitude = fmaxf(magnitude, fabsf(to_float(x[row * columns + column])));
  }
  found[warp][lane] = magnitude;
  __syncthreads();
  for (int i = 0; i < kWarps; ++i) magnitude = fmaxf(magnitude, found[i][lane]);
  const float scale = scale_for(magnitude);
  if (warp == 0 && column < columns) scales[place_of_scale(kind, columns, rows, column, top)] = scale;
  for (std::int64_t begin = top; begin < bottom; begin += kWarp) {
    for (int i = warp; i < kWarp; i += kWarps) {
      const bool inside = begin + i < bottom && column < columns;
      tile[i][lane] = inside ? code_of(Fp8::e4m3, to_float(x[(begin + i) * columns + column]) / scale) : 0;
    }
    __syncthreads();
    for (int i = warp; i < kWarp; i += kWarps) {
      if (begin + lane < bottom && left + i < columns) turned[(left + i) * rows + begin + lane] = tile[lane][i];
    }
    __syncthreads();  // the tile is written again
  }
}

template <class T>
__global__ void turned_lines(Scales kind, std::int64_t rows, std::int64_t columns, std::int64_t height, const T* x,
                             std::uint8_t* turned, float* scales) {
  const std::int64_t across = (columns + kWarp - 1) / kWarp, count = (rows + height - 1) / height * across;
  for (std::int64_t number = blockIdx.x; number < count; number += gridDim.x) {
    const std::int64_t top = number / across * height;
    column_piece(kind, rows, columns, number % across * kWarp, top, min(top + height, rows), x, turned, scales);
    __syncthreads();  // what was found is written again
  }
}

template <class T>
__global__ void squares(std::int64_t rows, std::int64_t columns, const T* x, std::uint8_t* codes, float* scales,
                        std::uint8_t* turned, float* turned_scales) {
  const std::int64_t across = (columns + kSide - 1) / kSide, count = (rows + kSide - 1) / kSide * across;
  for (std::int64_t number = blockIdx.x; number < count; number += gridDim.x) {
    const std::int64_t top = number / across * kSide, left = number % across * kSide;
    const auto each = [&](auto body) {
      for (int i = threadIdx.x; i < kSide * kSide; i += blockDim.x) {
        const std::int64_t row = top + i / kSide, column = left + i % kSide;
        if (row < rows && column < columns) body(row, column, to_float(x[row * columns + column]));
      }
    };
    float magnitude = 0;
    each([&](std::int64_t, std::int64_t, float value) { magnitude = fmaxf(magnitude, fabsf(value)); });
    const float scale = scale_for(block_reduce<Maximum>(magnitude));
    each([&](std::int64_t row, std::int64_t column, float value) {
      const std::uint8_t code = code_of(Fp8::e4m3, value / scale);
      if (codes != nullptr) codes[row * columns + column] = code;
      if (turned != nullptr) turned[column * rows + row] = code;
    });
    if (threadIdx.x != 0) continue;
    if (codes != nullptr) scales[place_of_scale(Scales::squares, rows, columns, top, left)] = scale;
    if (turned != nullptr) turned_scales[place_of_scale(Scales::squares, columns, rows, left, top)] = scale;
  }
}

void clear(Scales kind, std::int64_t rows, std::int64_t columns, float* scales, Stream stream) {
  if (scales == nullptr) return;
  cudaMemsetAsync(scales, 0, static_cast<std::size_t>(count_scales(kind, rows, columns)) * sizeof(float), stream);
}

template <class T>
void along_rows(const BlockCast& c, const T* x, std::uint8_t* codes, float* scales, Stream stream) {
  if (codes == nullptr) return;
  if (c.scales == Scales::rows) {
    launch(whole_rows<T>, {blocks_for(c.rows, 1), kBlock}, stream, c.rows, c.columns, x, codes, scales);
  } else {
    launch(lines<T>, {blocks_for(c.rows * scale_blocks(c.columns), kWarps), kBlock}, stream, c.rows, c.columns, x,
           codes, scales);
  }
}

template <class T>
void along_columns(const BlockCast& c, const T* x, std::uint8_t* turned, float* scales, Stream stream) {
  if (turned == nullptr) return;
  const std::int64_t height = c.scales == Scales::rows ? c.rows : kScaleBlock;
  const std::int64_t count = (c.rows + height - 1) / height * ((c.columns + kWarp - 1) / kWarp);
  launch(turned_lines<T>, {blocks_for(count, 1), kBlock}, stream, c.scales, c.rows, c.columns, height, x, turned,
         scales);
}

}  // namespace

void block_cast(const BlockCast& c, Element element, const void* x, std::uint8_t* codes, float* scales,
                std::uint8_t* turned, float* turned_scales, Stream stream) {
  if (c.rows == 0 || c.columns == 0) return;
  clear(c.scales, c.rows, c.columns, scales, stream);
  clear(c.scales, c.columns, c.rows, turned_scales, stream);
  with_element(element, [&]<class T>() {
    if (c.scales == Scales::squares) {
      launch(squares<T>, {blocks_for(scale_blocks(c.rows) * scale_blocks(c.columns), 1), kBlock}, stream, c.rows,
             c.columns, as<T>(x), codes, scales, turned, turned_scales);
      return;
    }
    along_rows(c, as<T>(x), codes, scales, stream);
    along_columns(c, as<T>(x), turned, turned_scales, stream);
  });
  check_launch("block_cast");
}

}  // namespace kernels::gpu
