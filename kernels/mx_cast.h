// kernels/mx_cast.h -- a matrix to MXFP8: e4m3 with a power of two for every 32 numbers of a row, in both layouts that
// matmuls read. Source: OCP Microscaling Formats 1.0; the power is the least that keeps the block within e4m3, as in
// Transformer Engine (2025). SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/host_device.h"
#include "kernels/types.h"

namespace kernels {

inline constexpr std::int64_t kMxBlock = 32;

constexpr std::int64_t mx_blocks(std::int64_t columns) { return (columns + kMxBlock - 1) / kMxBlock; }
/// Scales of a matrix as tensor cores read them: whole tiles of 128 rows x 4 blocks. Source: cuBLAS, "1D block scaling
/// factors layout".
constexpr std::int64_t mx_scales(std::int64_t rows, std::int64_t columns) {
  return (rows + 127) / 128 * 128 * ((mx_blocks(columns) + 3) / 4 * 4);
}

/// Where the scale of a row's block lies of `blocks`: in a tile rows 32 apart are neighbours.
KERNELS_HOST_DEVICE constexpr std::int64_t mx_place(std::int64_t row, std::int64_t block, std::int64_t blocks) {
  const std::int64_t tile = row / 128 * ((blocks + 3) / 4) + block / 4;
  return tile * 512 + row % 32 * 16 + row % 128 / 32 * 4 + block % 4;
}

/// A layout that is not wanted has neither codes nor scales. Scales of a block run along the rows of their own layout,
/// so `turned` [columns, rows] is not `codes` [rows, columns] transposed.
struct MxCast {
  std::int64_t rows = 0, columns = 0;
};

namespace reference {

/// Codes as the numbers that they stand for, scales in tiles. What only fills up a tile is left as it is.
void mx_cast(const MxCast&, Input x, Output codes, Output scales, Output turned, Output turned_scales);
/// What the codes [rows, columns] stand for with their scales.
void mx_values(const MxCast&, Input codes, Input scales, Output x);

}  // namespace reference

namespace gpu {

/// Scales as bytes, 2^(byte - 127), in tiles.
void mx_cast(const MxCast&, Element element, const void* x, std::uint8_t* codes, std::uint8_t* scales,
             std::uint8_t* turned, std::uint8_t* turned_scales, Stream);

}  // namespace gpu
}  // namespace kernels
