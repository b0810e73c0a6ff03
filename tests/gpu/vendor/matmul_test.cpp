// tests/gpu/vendor/matmul_test.cpp -- cuBLASLt's matmul against the CPU reference.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/vendor/matmul.h"

#include "kernels/block_cast.h"
#include "kernels/quantize.h"
#include "tests/gpu/device_array.h"

namespace {

using kernels::Element;
using kernels::Matmul;
using kernels::vendor::Number;
using test::Array;
using test::Device;
using test::Values;

class MatmulOnGpu : public testing::Test {
 protected:
  kernels::vendor::MatmulLibrary library_;
};

TEST_F(MatmulOnGpu, EveryTransposeAndAccumulationAgrees) {
  for (Number c : {Number::bf16, Number::f32}) {
    const Element element = c == Number::bf16 ? Element::bf16 : Element::f32;
    const Values a = test::random_elements(Element::bf16, 96 * 200, 1),
                 b = test::random_elements(Element::bf16, 200 * 72, 2);
    const Values before = test::random_elements(element, 96 * 72, 3);
    for (int bits = 0; bits < 8; ++bits) {
      const Matmul shape{96, 72, 200, (bits & 1) != 0, (bits & 2) != 0, 0.5, bits & 4 ? 1.0 : 0};
      Values expected = before;
      kernels::reference::matmul(shape, a, b, expected);
      const Array d_a(Element::bf16, a), d_b(Element::bf16, b);
      const Array d_c = bits & 4 ? Array(element, before) : Array(element, before.size());  // NaN must not be read
      library_.run(shape, {.c = c}, {.a = d_a.data(), .b = d_b.data(), .c = d_c.data()}, nullptr);
      test::expect_close(d_c.values(), expected, test::tolerance(element), "c");
    }
  }
}

TEST_F(MatmulOnGpu, AnAddendIsAddedWithoutBeingChanged) {
  const Matmul shape{64, 64, 64, false, true, 1, 1};
  const Values a = test::random_elements(Element::bf16, 4096, 1),
               residual = test::random_elements(Element::bf16, 4096, 2);
  Values expected = residual;
  kernels::reference::matmul(shape, a, a, expected);
  const Array d_a(Element::bf16, a), d_residual(Element::bf16, residual), d_c(Element::bf16, 4096);
  library_.run(shape, {}, {.a = d_a.data(), .b = d_a.data(), .addend = d_residual.data(), .c = d_c.data()}, nullptr);
  test::expect_close(d_c.values(), expected, 4e-3, "c");
  EXPECT_EQ(d_residual.values(), residual);
  EXPECT_NE(library_.algorithm(shape, {}), "");
}

TEST_F(MatmulOnGpu, Fp8OperandsAreScaledBack) {
  int major = 0, minor = 0;
  test::check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
  test::check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0));
  if (10 * major + minor < 89) GTEST_SKIP() << "the GPU has no fp8";
  const Matmul shape{64, 48, 128, false, true};
  const auto fp8 = [](std::int64_t rows, unsigned seed, kernels::Fp8 format, std::vector<std::uint8_t>& codes,
                      Values& scale) {
    const kernels::Quantize whole{format, rows, 128, rows, 128};
    Values values = test::random_values(rows * 128, seed);
    codes.resize(values.size());
    kernels::reference::quantize(whole, values, codes, scale);
    kernels::reference::dequantize(whole, codes, scale, values);
    return values;
  };
  for (auto format : {kernels::Fp8::e4m3, kernels::Fp8::e5m2}) {
    std::vector<std::uint8_t> a_codes, b_codes;
    Values a_scale(1), b_scale(1), expected(64 * 48);
    const Values a = fp8(64, 1, format, a_codes, a_scale), b = fp8(48, 2, kernels::Fp8::e4m3, b_codes, b_scale);
    kernels::reference::matmul(shape, a, b, expected);
    const Device<std::uint8_t> d_a(a_codes), d_b(b_codes);
    const Array d_a_scale(Element::f32, a_scale), d_b_scale(Element::f32, b_scale), d_c(Element::bf16, expected.size());
    const Number number = format == kernels::Fp8::e4m3 ? Number::e4m3 : Number::e5m2;
    library_.run(shape, {.a = number, .b = Number::e4m3},
                 {.a = d_a.data(),
                  .b = d_b.data(),
                  .c = d_c.data(),
                  .scale_a = d_a_scale.floats(),
                  .scale_b = d_b_scale.floats()},
                 nullptr);
    test::expect_close(d_c.values(), expected, 4e-3, "c");
  }
}

/// What a matrix [rows, columns] is in e4m3 with such scales.
struct Scaled {
  std::vector<std::uint8_t> codes;
  Values scales, values;
};
Scaled scaled(kernels::Scales kind, std::int64_t rows, std::int64_t columns, unsigned seed) {
  const kernels::BlockCast shape{kind, rows, columns};
  const Values x = test::random_values(rows * columns, seed);
  Values numbers(x.size()), none;
  Scaled out{{}, Values(kernels::count_scales(kind, rows, columns)), Values(x.size())};
  kernels::reference::block_cast(shape, x, numbers, out.scales, none, none);
  kernels::reference::block_values(shape, numbers, out.scales, out.values);
  for (const double number : numbers) out.codes.push_back(kernels::to_fp8(kernels::Fp8::e4m3, number));
  return out;
}

TEST_F(MatmulOnGpu, ScalesOfRowsLinesAndSquaresAreMultipliedOnHopper) {
  int major = 0;
  test::check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
  if (major != 9) GTEST_SKIP() << "cuBLASLt has these scales on Hopper alone";
  using kernels::Scales;
  const Matmul shape{144, 272, 384, false, true};  // three blocks along what is summed, rows that end inside of one
  for (const auto& [of_a, of_b] :
       {std::pair{Scales::rows, Scales::rows}, {Scales::lines, Scales::squares}, {Scales::lines, Scales::lines}}) {
    const Scaled a = scaled(of_a, shape.m, shape.k, 1), b = scaled(of_b, shape.n, shape.k, 2);
    Values expected(shape.m * shape.n);
    kernels::reference::matmul(shape, a.values, b.values, expected);
    const Device<std::uint8_t> d_a(a.codes), d_b(b.codes);
    const Array d_a_scales(Element::f32, a.scales), d_b_scales(Element::f32, b.scales);
    for (const Number c : {Number::bf16, Number::f32}) {  // outputs, and gradients that are added to
      const Array d_c(c == Number::f32 ? Element::f32 : Element::bf16, expected.size());
      library_.run(shape, {.a = Number::e4m3, .b = Number::e4m3, .c = c, .scales_a = of_a, .scales_b = of_b},
                   {.a = d_a.data(),
                    .b = d_b.data(),
                    .c = d_c.data(),
                    .scale_a = d_a_scales.floats(),
                    .scale_b = d_b_scales.floats()},
                   nullptr);
      test::expect_close(d_c.values(), expected, 4e-3, "c");
    }
  }
}

}  // namespace
