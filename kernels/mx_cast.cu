// kernels/mx_cast.cu -- see mx_cast.h. A block of threads takes tiles in bands of 32 rows, which it keeps in registers:
// some neighbouring lanes have a block of a row, and with all of the band's rows a block of each column is there.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/device.cuh"
#include "kernels/fp8.cuh"
#include "kernels/mx_cast.h"
#include "kernels/tile.cuh"

namespace kernels::gpu {
namespace {

constexpr int kBand = static_cast<int>(kMxBlock);

__device__ std::int64_t blocks_along(std::int64_t columns) { return (columns + kBand - 1) / kBand; }

/// What divides by the scale of that exponent. Exact, as a scale is a power of two.
__device__ float inverse_power(int exponent) {
  return exponent == 254 ? 0x1p-127f : __uint_as_float(static_cast<unsigned>(254 - exponent) << 23);
}

/// A pack of a row, whose block is that of some neighbouring lanes. All lanes of a warp call it.
template <class T, int V>
__device__ void encode_pack(const MxCast& c, const Tile& tile, int row, int column, const Pack<T, V>& pack,
                            std::uint8_t* codes, std::uint8_t* scales) {
  constexpr int kLanes = kBand / V;
  float magnitude = largest_magnitude_of(pack);
  for (int turn = kLanes / 2; turn > 0; turn /= 2) {
    magnitude = fmaxf(magnitude, __shfl_xor_sync(kAll, magnitude, turn));
  }
  if (row >= tile.height || column >= tile.width) return;
  const int exponent = exponent_for(magnitude);
  const float inverse = inverse_power(exponent);
  Pack<float, V> quotients;
  for (int j = 0; j < V; ++j) quotients.element[j] = pack[j] * inverse;
  store(codes + tile.place(row, column), codes_as<__NV_E4M3>(quotients));
  if (threadIdx.x % kLanes != 0) return;
  scales[mx_place(tile.top + row, (tile.left + column) / kBand, blocks_along(c.columns))] =
      static_cast<std::uint8_t>(exponent);
}

template <class T, int V, int W>
__global__ void tiles(MxCast c, const T* x, std::uint8_t* codes, std::uint8_t* scales, std::uint8_t* turned,
                      std::uint8_t* turned_scales) {
  constexpr int kAcross = Tile::kSide / V, kDown = kBlock / kAcross, kPacks = kBand / kDown;
  __shared__ TileOfCodes tile_of_codes;
  __shared__ float found[kDown][Tile::kSide], inverse[Tile::kSide];
  const int own = static_cast<int>(threadIdx.x), column = own % kAcross * V, line = own / kAcross;
  for (std::int64_t number = blockIdx.x; number < tiles_of(c.rows, c.columns); number += gridDim.x) {
    const Tile tile(c.rows, c.columns, number);
    for (int top = 0; top < tile.height; top += kBand) {
      Pack<T, V> pack[kPacks];
#pragma unroll
      for (int k = 0; k < kPacks; ++k) {
        const int row = top + line + k * kDown;
        pack[k] = row < tile.height && column < tile.width ? load<V>(x + tile.place(row, column)) : Pack<T, V>{};
      }
#pragma unroll
      for (int k = 0; codes != nullptr && k < kPacks; ++k) {
        encode_pack(c, tile, top + line + k * kDown, column, pack[k], codes, scales);
      }
      if (turned == nullptr) continue;
      for (int j = 0; j < V; ++j) {
        float magnitude = 0;
        for (int k = 0; k < kPacks; ++k) magnitude = fmaxf(magnitude, fabsf(pack[k][j]));
        found[line][column + j] = magnitude;
      }
      __syncthreads();
      if (own < tile.width) {
        float magnitude = 0;
        for (int i = 0; i < kDown; ++i) magnitude = fmaxf(magnitude, found[i][own]);
        const int exponent = exponent_for(magnitude);
        inverse[own] = inverse_power(exponent);
        turned_scales[mx_place(tile.left + own, (tile.top + top) / kBand, blocks_along(c.rows))] =
            static_cast<std::uint8_t>(exponent);
      }
      __syncthreads();
#pragma unroll
      for (int k = 0; k < kPacks; ++k) {
        Pack<float, V> quotients;
        for (int j = 0; j < V; ++j) quotients.element[j] = pack[k][j] * inverse[column + j];
        tile_of_codes.put(top + line + k * kDown, column, codes_as<__NV_E4M3>(quotients));
      }
    }
    if (turned == nullptr) continue;
    __syncthreads();
    tile_of_codes.write_turned<W>(tile, turned);
    __syncthreads();  // the next tile's codes take their place
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
  with_packs(element, packs(element, c.columns, x, codes), [&]<class T, int V>() {
    with_turned(c.rows, turned, [&]<int W>() {
      launch(tiles<T, V, W>, {blocks_for(tiles_of(c.rows, c.columns), 1), kBlock}, stream, c, as<T>(x), codes, scales,
             turned, turned_scales);
    });
  });
  check_launch("mx_cast");
}

}  // namespace kernels::gpu
