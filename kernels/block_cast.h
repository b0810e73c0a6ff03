// kernels/block_cast.h -- a matrix to e4m3 with a scale for each row, for each 128 numbers of a row or for each square
// of 128 x 128, in both layouts that matmuls read. A scale is the least power of two that keeps its numbers within
// e4m3, as torchao (rowwise) and Transformer Engine (blockwise, 2025) round it. Source of the blocks: DeepSeek-V3,
// arXiv 2412.19437, section 3.3.2. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/fp8.h"
#include "kernels/host_device.h"
#include "kernels/types.h"

namespace kernels {

inline constexpr std::int64_t kScaleBlock = 128;

/// Scales of rows and lines run along the rows of their own layout, so `turned` [columns, rows] is not `codes` [rows,
/// columns] transposed; those of squares are the same in both. REQUIRES: rows, lines or squares.
struct BlockCast {
  Scales scales = Scales::rows;
  std::int64_t rows = 0, columns = 0;
};

constexpr std::int64_t scale_blocks(std::int64_t length) { return (length + kScaleBlock - 1) / kScaleBlock; }
constexpr std::int64_t in_fours(std::int64_t count) { return (count + 3) / 4 * 4; }

/// How many scales a layout [rows, columns] has in memory, and where that of a number lies. As cuBLASLt reads them:
/// those of lines with the rows one behind the other, those of squares with a row's squares, either filled up to fours.
/// Source: cuBLAS, "1D/2D block scaling" for 128-element blocks.
constexpr std::int64_t count_scales(Scales scales, std::int64_t rows, std::int64_t columns) {
  switch (scales) {
    case Scales::rows: return rows;
    case Scales::lines: return scale_blocks(columns) * in_fours(rows);
    default: return scale_blocks(rows) * in_fours(scale_blocks(columns));
  }
}
KERNELS_HOST_DEVICE constexpr std::int64_t place_of_scale(Scales scales, std::int64_t rows, std::int64_t columns,
                                                          std::int64_t row, std::int64_t column) {
  switch (scales) {
    case Scales::rows: return row;
    case Scales::lines: return column / kScaleBlock * ((rows + 3) / 4 * 4) + row;
    default:
      return row / kScaleBlock * ((columns + kScaleBlock * 4 - 1) / (kScaleBlock * 4) * 4) + column / kScaleBlock;
  }
}

namespace reference {

/// A layout that is not wanted has neither codes nor scales. Codes as the numbers that they stand for. What only
/// fills up means nothing.
void block_cast(const BlockCast&, Input x, Output codes, Output scales, Output turned, Output turned_scales);
/// What the codes [rows, columns] stand for with their scales.
void block_values(const BlockCast&, Input codes, Input scales, Output x);

}  // namespace reference

namespace gpu {

void block_cast(const BlockCast&, Element element, const void* x, std::uint8_t* codes, float* scales,
                std::uint8_t* turned, float* turned_scales, Stream);

}  // namespace gpu
}  // namespace kernels
