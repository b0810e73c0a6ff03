// kernels/mx_cast.cu -- see mx_cast.h. A block of threads takes tiles of 32 x 32: a warp has a row of it in one layout,
// a column in the other, and so one scale at a time. SPDX-License-Identifier: Apache-2.0
#include "kernels/device.cuh"
#include "kernels/fp8.cuh"
#include "kernels/mx_cast.h"

namespace kernels::gpu {
namespace {

constexpr int kTile = static_cast<int>(kMxBlock);
static_assert(kTile == kWarp);

__device__ std::int64_t blocks_along(std::int64_t columns) { return (columns + kTile - 1) / kTile; }

/// This lane's number of a block of a row of [rows, columns].
__device__ void encode(float x, std::int64_t row, std::int64_t block, std::int64_t columns, std::uint8_t* codes,
                       std::uint8_t* scales) {
  const int lane = threadIdx.x % kWarp, exponent = exponent_for(warp_reduce<Maximum>(fabsf(x)));
  const std::int64_t column = block * kMxBlock + lane;
  if (column < columns) {
    codes[row * columns + column] = code_of(Fp8::e4m3, ldexpf(x, 127 - exponent));
  }
  if (lane == 0) scales[mx_place(row, block, blocks_along(columns))] = static_cast<std::uint8_t>(exponent);
}

template <class T>
__global__ void tiles(MxCast c, const T* x, std::uint8_t* codes, std::uint8_t* scales, std::uint8_t* turned,
                      std::uint8_t* turned_scales) {
  __shared__ float tile[kTile][kTile + 1];
  const std::int64_t across = blocks_along(c.columns), count = blocks_along(c.rows) * across;
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp;
  for (std::int64_t number = blockIdx.x; number < count; number += gridDim.x) {
    const std::int64_t down = number / across, right = number % across, top = down * kTile, left = right * kTile;
    for (int i = warp; i < kTile; i += warps) {
      const bool inside = top + i < c.rows && left + lane < c.columns;
      tile[i][lane] = inside ? to_float(x[(top + i) * c.columns + left + lane]) : 0;
    }
    __syncthreads();
    for (int i = warp; i < kTile; i += warps) {
      if (codes != nullptr && top + i < c.rows) encode(tile[i][lane], top + i, right, c.columns, codes, scales);
      if (turned != nullptr && left + i < c.columns) {
        encode(tile[lane][i], left + i, down, c.rows, turned, turned_scales);
      }
    }
    __syncthreads();  // the tile is written again
  }
}

/// Scales of rows and blocks that only fill up the tiles.
void clear(std::uint8_t* scales, std::int64_t rows, std::int64_t columns, Stream stream) {
  if (scales != nullptr) cudaMemsetAsync(scales, 0, static_cast<std::size_t>(mx_scales(rows, columns)), stream);
}

}  // namespace

void mx_cast(const MxCast& c, Element element, const void* x, std::uint8_t* codes, std::uint8_t* scales,
             std::uint8_t* turned, std::uint8_t* turned_scales, Stream stream) {
  if (c.rows == 0 || c.columns == 0) return;
  clear(scales, c.rows, c.columns, stream);
  clear(turned_scales, c.columns, c.rows, stream);
  with_element(element, [&]<class T>() {
    launch(tiles<T>, {blocks_for(mx_blocks(c.rows) * mx_blocks(c.columns), 1), kBlock}, stream, c, as<T>(x), codes,
           scales, turned, turned_scales);
  });
  check_launch("mx_cast");
}

}  // namespace kernels::gpu
