// kernels/tile.cuh -- tiles of codes of 8 bits, by which the casts write a matrix along its rows and along its columns.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/device.cuh"

namespace kernels::gpu {

/// A tile of a matrix [rows, columns], the `number`-th along its rows; those at the edges are cut.
struct Tile {
  static constexpr int kSide = 128;

  std::int64_t rows, columns, top, left;
  int height, width;

  __device__ Tile(std::int64_t rows, std::int64_t columns, std::int64_t number) : rows(rows), columns(columns) {
    const std::int64_t across = (columns + kSide - 1) / kSide, down = number / across;
    top = down * kSide;
    left = (number - down * across) * kSide;
    height = static_cast<int>(min(rows - top, std::int64_t{kSide}));
    width = static_cast<int>(min(columns - left, std::int64_t{kSide}));
  }
  __device__ std::int64_t place(int row, int column) const { return (top + row) * columns + left + column; }

  /// Calls body(row, column, pack) for this thread's share of x, places counted from the tile's corner.
  template <int V, class T, class Body>
  __device__ void for_each(const T* x, Body body) const {
    constexpr int kAcross = kSide / V;
    const int step = static_cast<int>(blockDim.x);
    for (int i = static_cast<int>(threadIdx.x); i < height * kAcross; i += kTogether * step) {
      Pack<T, V> pack[kTogether];
#pragma unroll
      for (int k = 0; k < kTogether; ++k) {
        const int at = i + k * step, row = at / kAcross, column = at % kAcross * V;
        if (row < height && column < width) pack[k] = load<V>(x + place(row, column));
      }
#pragma unroll
      for (int k = 0; k < kTogether; ++k) {
        const int at = i + k * step, row = at / kAcross, column = at % kAcross * V;
        if (row < height && column < width) body(row, column, pack[k]);
      }
    }
  }
};

/// Codes of a tile, in shared memory.
struct TileOfCodes {
  static constexpr int kWord = 4;
  alignas(16) std::uint8_t code[Tile::kSide][Tile::kSide + kWord];  // a word more, so that columns spread over banks

  template <int V>
  __device__ void put(int row, int column, const Pack<std::uint8_t, V>& codes) {
    constexpr int kPart = V < kWord ? V : kWord;
    for (int j = 0; j < V; j += kPart) {
      Pack<std::uint8_t, kPart> part;
      for (int l = 0; l < kPart; ++l) part.element[l] = codes.element[j + l];
      store(&code[row][column + j], part);
    }
  }

  /// Writes them to the transposed matrix, by V neighbours in a column of the tile. All threads call it, after all have
  /// put; another round of putting needs a barrier.
  template <int V>
  __device__ void write_turned(const Tile& tile, std::uint8_t* turned) const {
    constexpr int kAcross = Tile::kSide / V;
    for (int i = static_cast<int>(threadIdx.x); i < tile.width * kAcross; i += static_cast<int>(blockDim.x)) {
      const int column = i / kAcross, row = i % kAcross * V;
      if (row >= tile.height) continue;
      Pack<std::uint8_t, V> pack;
      for (int j = 0; j < V; ++j) pack.element[j] = code[row + j][column];
      store(turned + (tile.left + column) * tile.rows + tile.top + row, pack);
    }
  }
};

inline constexpr int kTurned = 8;  // codes that are written to the transposed matrix at once, where that may be

/// Calls body.operator()<W>() with how many that are.
template <class Body>
void with_turned(std::int64_t rows, const void* turned, Body body) {
  rows % kTurned == 0 && aligned(turned) ? body.template operator()<kTurned>() : body.template operator()<1>();
}

__host__ __device__ inline std::int64_t tiles_of(std::int64_t rows, std::int64_t columns) {
  return (rows + Tile::kSide - 1) / Tile::kSide * ((columns + Tile::kSide - 1) / Tile::kSide);
}

}  // namespace kernels::gpu
