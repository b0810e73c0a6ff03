// kernels/quantize.h -- fp8 codes of a matrix with one scale for the tensor, for each row or for each block.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/fp8.h"
#include "kernels/types.h"

namespace kernels {

/// One scale for every block of block_rows x block_columns: (rows, columns) is per tensor, (1, columns) per row, (1,
/// 128) and (128, 128) are the blocks of DeepSeek-V3 (2024, section 3.3.2). Blocks at the edges may be smaller.
struct Quantize {
  Fp8 format = Fp8::e4m3;
  std::int64_t rows = 0, columns = 0, block_rows = 1, block_columns = 128;

  constexpr std::int64_t down() const { return (rows + block_rows - 1) / block_rows; }
  constexpr std::int64_t across() const { return (columns + block_columns - 1) / block_columns; }
};

namespace reference {

/// scales [down, across] = largest magnitude of the block / largest of the format (1 for a block of zeros); codes
/// [rows, columns] = x / scale in fp8. A code times its scale is the value.
void quantize(const Quantize&, Input x, std::span<std::uint8_t> codes, Output scales);
void dequantize(const Quantize&, std::span<const std::uint8_t> codes, Input scales, Output x);

}  // namespace reference

namespace gpu {

void quantize(const Quantize&, Element element, const void* x, std::uint8_t* codes, float* scales, Stream);
void dequantize(const Quantize&, Element element, const std::uint8_t* codes, const float* scales, void* x, Stream);

}  // namespace gpu
}  // namespace kernels
