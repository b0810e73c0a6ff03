// tests/gpu/quantize_test.cpp -- fp8 of the GPU against its CPU reference.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/quantize.h"
#include "tests/gpu/device_array.h"

namespace {

using kernels::Element;
using kernels::Quantize;
using test::Array;
using test::Device;
using test::Values;

class QuantizeOnGpu : public test::Kernel {};

TEST_P(QuantizeOnGpu, AgreesForATensorARowAndABlock) {
  const std::int64_t rows = 200, columns = width();  // bf16: 204,800 elements, above what one block of threads takes
  const Values x = random(rows * columns, 1);
  for (auto format : {kernels::Fp8::e4m3, kernels::Fp8::e5m2}) {
    for (const auto& [down, across] :
         {std::pair<std::int64_t, std::int64_t>{rows, columns}, {1, columns}, {1, 128}, {128, 128}}) {
      const Quantize shape{format, rows, columns, down, across};
      const auto scale_count = static_cast<std::size_t>(shape.down() * shape.across());
      std::vector<std::uint8_t> codes(x.size());
      Values scales(scale_count), back(x.size());
      kernels::reference::quantize(shape, x, codes, scales);
      const Array d_x(element(), x), d_scales(Element::f32, scale_count), d_back(element(), x.size());
      const Device<std::uint8_t> d_codes(x.size());
      kernels::gpu::quantize(shape, element(), d_x.data(), d_codes.data(), d_scales.floats(), nullptr);
      test::expect_close(d_scales.values(), scales, 1e-6, "scales");
      // x / scale in fp32 may fall on the other side of a tie: a neighbouring code, for a few in a thousand.
      const std::vector<std::uint8_t> got = d_codes.values();
      std::size_t different = 0;
      for (std::size_t i = 0; i < codes.size(); ++i) {
        different += got[i] != codes[i];
        ASSERT_LE(std::abs(got[i] - codes[i]), 1) << i;
      }
      EXPECT_LE(different, codes.size() / 200);
      kernels::gpu::dequantize(shape, element(), d_codes.data(), d_scales.floats(), d_back.data(), nullptr);
      kernels::reference::dequantize(shape, got, scales, back);
      test::expect_close(d_back.values(), back, close(), "back");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Gpu, QuantizeOnGpu, test::kCases, test::case_name);

}  // namespace
