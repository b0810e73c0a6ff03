// tests/gpu/block_cast_test.cpp -- e4m3 with a scale for each row, line or square: the GPU against its CPU reference.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/block_cast.h"

#include "tests/gpu/device_array.h"

namespace {

using kernels::BlockCast;
using kernels::Fp8;
using kernels::Scales;
using test::Array;
using test::Device;
using test::Element;
using test::Values;

class BlockCastOnGpu : public test::Kernel {};

/// What codes and scales of a layout stand for.
Values stands_for(Scales scales, std::int64_t rows, std::int64_t columns, const std::vector<std::uint8_t>& codes,
                  const Values& of_codes) {
  Values numbers, out(codes.size());
  for (const std::uint8_t code : codes) numbers.push_back(kernels::from_fp8(Fp8::e4m3, code));
  kernels::reference::block_values({scales, rows, columns}, numbers, of_codes, out);
  return out;
}

TEST_P(BlockCastOnGpu, BothLayoutsAgree) {
  const std::int64_t rows = 150, columns = width();  // blocks that are cut at both edges
  const Values x = random(rows * columns, 1);
  for (const Scales scales : {Scales::rows, Scales::lines, Scales::squares}) {
    const BlockCast shape{scales, rows, columns};
    const auto count = static_cast<std::size_t>(kernels::count_scales(scales, rows, columns));
    const auto turned_count = static_cast<std::size_t>(kernels::count_scales(scales, columns, rows));
    Values codes(x.size()), of_codes(count), turned(x.size()), of_turned(turned_count);
    kernels::reference::block_cast(shape, x, codes, of_codes, turned, of_turned);
    const Array d_x(element(), x), d_scales(Element::f32, count), d_turned_scales(Element::f32, turned_count);
    const Device<std::uint8_t> d_codes(x.size()), d_turned(x.size());
    kernels::gpu::block_cast(shape, element(), d_x.data(), d_codes.data(), d_scales.floats(), d_turned.data(),
                             d_turned_scales.floats(), nullptr);
    // Powers of two and roundings to 4 bits are the same in fp32 and in double: nothing may differ.
    Values expected(x.size());
    kernels::reference::block_values(shape, codes, of_codes, expected);
    EXPECT_EQ(stands_for(scales, rows, columns, d_codes.values(), d_scales.values()), expected);
    kernels::reference::block_values({scales, columns, rows}, turned, of_turned, expected);
    EXPECT_EQ(stands_for(scales, columns, rows, d_turned.values(), d_turned_scales.values()), expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Gpu, BlockCastOnGpu, test::kCases, test::case_name);

}  // namespace
