// tests/gpu/mx_cast_test.cpp -- MXFP8 of the GPU against its CPU reference, scales in tiles.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/mx_cast.h"

#include <cmath>

#include "kernels/fp8.h"
#include "tests/gpu/device_array.h"

namespace {

using test::Array;
using test::Device;
using test::Values;
using Bytes = std::vector<std::uint8_t>;

class MxCastOnGpu : public test::Kernel {};

/// What codes [rows, columns] and scales in tiles of 128 rows x 4 blocks stand for: in a tile of 512 bytes a row's four
/// scales lie behind those of the row 32 before it, 16 bytes from those of the next one.
Values values(std::int64_t rows, std::int64_t columns, const Bytes& codes, const Bytes& scales) {
  const std::int64_t tiles_across = (kernels::mx_blocks(columns) + 3) / 4;
  Values out;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t i = 0; i < columns; ++i) {
      const std::int64_t block = i / 32, tile = row / 128 * tiles_across + block / 4;
      const std::uint8_t scale = scales[tile * 512 + row % 32 * 16 + row % 128 / 32 * 4 + block % 4];
      out.push_back(std::ldexp(kernels::from_fp8(kernels::Fp8::e4m3, codes[row * columns + i]), scale - 127));
    }
  }
  return out;
}

TEST_P(MxCastOnGpu, BothLayoutsAgree) {
  const std::int64_t rows = 200, columns = width();
  const Values x = random(rows * columns, 1);
  Values codes(x.size()), scales(kernels::mx_scales(rows, columns)), expected(x.size());
  Values turned(x.size()), turned_scales(kernels::mx_scales(columns, rows)), expected_turned(x.size());
  kernels::reference::mx_cast({rows, columns}, x, codes, scales, turned, turned_scales);
  kernels::reference::mx_values({rows, columns}, codes, scales, expected);
  kernels::reference::mx_values({columns, rows}, turned, turned_scales, expected_turned);
  const Array d_x(element(), x);
  const Device<std::uint8_t> d_codes(x.size()), d_turned(x.size()), d_scales(scales.size()),
      d_turned_scales(turned_scales.size());
  kernels::gpu::mx_cast({rows, columns}, element(), d_x.data(), d_codes.data(), d_scales.data(), d_turned.data(),
                        d_turned_scales.data(), nullptr);
  test::expect_close(values(rows, columns, d_codes.values(), d_scales.values()), expected, 1e-6, "codes");
  test::expect_close(values(columns, rows, d_turned.values(), d_turned_scales.values()), expected_turned, 1e-6,
                     "turned");
}

INSTANTIATE_TEST_SUITE_P(Gpu, MxCastOnGpu, test::kCases, test::case_name);

}  // namespace
