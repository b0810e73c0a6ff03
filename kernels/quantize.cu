// kernels/quantize.cu -- see quantize.h. Small blocks are scaled and coded by one block of threads each; large ones (a
// whole tensor) find their largest magnitude by atomics first. SPDX-License-Identifier: Apache-2.0
#include <cuda_fp8.h>

#include "kernels/device.cuh"
#include "kernels/fp8.cuh"
#include "kernels/quantize.h"

namespace kernels::gpu {
namespace {

constexpr std::int64_t kSmall = 1 << 15;  // elements of a block that one block of threads reads twice

__device__ __nv_fp8_interpretation_t interpretation(Fp8 format) { return format == Fp8::e4m3 ? __NV_E4M3 : __NV_E5M2; }

__device__ float scale_of(Fp8 format, float largest_magnitude) {
  return largest_magnitude == 0 ? 1 : largest_magnitude / (format == Fp8::e4m3 ? 448.0f : 57344.0f);
}

__device__ std::int64_t block_of(const Quantize& q, std::int64_t row, std::int64_t column) {
  return row / q.block_rows * ((q.columns + q.block_columns - 1) / q.block_columns) + column / q.block_columns;
}

/// Calls body(place) for this thread's share of a block's elements.
template <class Body>
__device__ void for_each_of(const Quantize& q, std::int64_t block, Body body) {
  const std::int64_t across = (q.columns + q.block_columns - 1) / q.block_columns;
  const std::int64_t top = block / across * q.block_rows, left = block % across * q.block_columns;
  const auto height = static_cast<int>(min(q.block_rows, q.rows - top));
  const auto width = static_cast<int>(min(q.block_columns, q.columns - left));
  for (int i = threadIdx.x; i < height * width; i += blockDim.x) body((top + i / width) * q.columns + left + i % width);
}

template <class T>
__global__ void small_blocks(Quantize q, std::int64_t blocks, const T* x, std::uint8_t* codes, float* scales) {
  for (std::int64_t block = blockIdx.x; block < blocks; block += gridDim.x) {
    float magnitude = 0;
    for_each_of(q, block, [&](std::int64_t at) { magnitude = fmaxf(magnitude, fabsf(to_float(x[at]))); });
    const float scale = scale_of(q.format, block_reduce<Maximum>(magnitude));
    for_each_of(q, block, [&](std::int64_t at) { codes[at] = code_of(q.format, to_float(x[at]) / scale); });
    if (threadIdx.x == 0) scales[block] = scale;
  }
}

/// blockIdx.y names a row, blockIdx.x a piece of it inside one block of the matrix. Magnitudes are not negative, so
/// their bits are ordered as they are. REQUIRES: scales are 0.
template <class T>
__global__ void magnitudes(Quantize q, const T* x, float* scales) {
  for (std::int64_t row = blockIdx.y; row < q.rows; row += gridDim.y) {
    const std::int64_t left = static_cast<std::int64_t>(blockIdx.x) * q.block_columns;
    const std::int64_t right = min(left + q.block_columns, q.columns);
    float magnitude = 0;
    for (std::int64_t i = left + threadIdx.x; i < right; i += blockDim.x) {
      magnitude = fmaxf(magnitude, fabsf(to_float(x[row * q.columns + i])));
    }
    magnitude = block_reduce<Maximum>(magnitude);
    if (threadIdx.x == 0) atomicMax(reinterpret_cast<int*>(scales + block_of(q, row, left)), __float_as_int(magnitude));
  }
}

__global__ void scales_of(Fp8 format, std::int64_t count, float* scales) {
  for (std::int64_t i = grid_index(); i < count; i += grid_stride()) scales[i] = scale_of(format, scales[i]);
}

template <class T>
__global__ void encode(Quantize q, const T* x, const float* scales, std::uint8_t* codes) {
  for (std::int64_t i = grid_index(); i < q.rows * q.columns; i += grid_stride()) {
    codes[i] = code_of(q.format, to_float(x[i]) / scales[block_of(q, i / q.columns, i % q.columns)]);
  }
}

template <class T>
__global__ void decode(Quantize q, const std::uint8_t* codes, const float* scales, T* x) {
  for (std::int64_t i = grid_index(); i < q.rows * q.columns; i += grid_stride()) {
    const float value = __half2float(__half(__nv_cvt_fp8_to_halfraw(codes[i], interpretation(q.format))));
    x[i] = from_float<T>(value * scales[block_of(q, i / q.columns, i % q.columns)]);
  }
}

template <class T>
void large_blocks(const Quantize& q, const T* x, std::uint8_t* codes, float* scales, Stream stream) {
  const std::int64_t count = q.down() * q.across();
  cudaMemsetAsync(scales, 0, static_cast<std::size_t>(count) * sizeof(float), stream);
  const dim3 grid(static_cast<unsigned>(q.across()), static_cast<unsigned>(std::min<std::int64_t>(q.rows, 8192)));
  launch(magnitudes<T>, {grid, kBlock}, stream, q, x, scales);
  launch(scales_of, {blocks_for(count), kBlock}, stream, q.format, count, scales);
  launch(encode<T>, {blocks_for(q.rows * q.columns), kBlock}, stream, q, x, scales, codes);
}

}  // namespace

void quantize(const Quantize& q, Element element, const void* x, std::uint8_t* codes, float* scales, Stream stream) {
  if (q.rows == 0 || q.columns == 0) return;
  const std::int64_t height = std::min(q.block_rows, q.rows), width = std::min(q.block_columns, q.columns);
  const std::int64_t blocks = q.down() * q.across();
  with_element(element, [&]<class T>() {
    if (height * width > kSmall) return large_blocks<T>(q, as<T>(x), codes, scales, stream);
    launch(small_blocks<T>, {blocks_for(blocks, 1), threads_for(height * width)}, stream, q, blocks, as<T>(x), codes,
           scales);
  });
  check_launch("quantize");
}

void dequantize(const Quantize& q, Element element, const std::uint8_t* codes, const float* scales, void* x,
                Stream stream) {
  if (q.rows == 0 || q.columns == 0) return;
  with_element(element, [&]<class T>() {
    launch(decode<T>, {blocks_for(q.rows * q.columns), kBlock}, stream, q, codes, scales, as<T>(x));
  });
  check_launch("dequantize");
}

}  // namespace kernels::gpu
