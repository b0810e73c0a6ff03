// tests/gpu/cast_test.cpp -- casts of the GPU against their CPU reference.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cast.h"

#include "tests/gpu/device_array.h"

namespace {

using kernels::Cast;
using kernels::Fp8;
using test::Array;
using test::Device;
using test::Values;
using Codes = std::vector<std::uint8_t>;

class CastOnGpu : public test::Kernel {};

Values decoded(Fp8 format, const Codes& codes) {
  Values out;
  for (const std::uint8_t code : codes) out.push_back(kernels::from_fp8(format, code));
  return out;
}

TEST_P(CastOnGpu, BothLayoutsAndTheLargestMagnitudeAgree) {
  const std::int64_t rows = 130, columns = width();  // tiles of 64 that are cut at both edges
  const Values x = random(rows * columns, 1);
  for (const Fp8 format : {Fp8::e4m3, Fp8::e5m2}) {
    const Cast shape{format, rows, columns};
    Values magnitude(1), scale(1), codes(x.size()), turned(x.size());
    kernels::reference::largest_magnitude(x, magnitude);
    kernels::reference::scale_for(format, magnitude, scale);
    kernels::reference::cast(shape, x, scale, codes, turned);
    const Array d_x(element(), x), d_magnitude(test::Element::f32, Values{0}), d_seen(test::Element::f32, Values{0}),
        d_scale(test::Element::f32, 1);
    const Device<std::uint8_t> d_codes(x.size()), d_turned(x.size()), d_again(x.size());
    kernels::gpu::largest_magnitude(rows * columns, element(), d_x.data(), d_magnitude.floats(), nullptr);
    kernels::gpu::scale_for(format, d_magnitude.floats(), d_scale.floats(), nullptr);
    kernels::gpu::cast(shape, element(), d_x.data(), d_scale.floats(), d_codes.data(), d_turned.data(), d_seen.floats(),
                       nullptr);
    kernels::gpu::turn(rows, columns, d_codes.data(), d_again.data(), nullptr);
    test::expect_close(d_magnitude.values(), magnitude, 1e-6, "largest");
    test::expect_close(d_seen.values(), magnitude, 1e-6, "largest on the way");
    test::expect_close(d_scale.values(), scale, 1e-6, "scale");
    // x / scale in fp32 may fall on the other side of a tie: a neighbouring code, a step of 2^-3 (2^-2), for a few.
    test::expect_close(decoded(format, d_codes.values()), codes, 0.02, "codes");
    test::expect_close(decoded(format, d_turned.values()), turned, 0.02, "turned");
    EXPECT_EQ(d_again.values(), d_turned.values());
  }
}

INSTANTIATE_TEST_SUITE_P(Gpu, CastOnGpu, test::kCases, test::case_name);

}  // namespace
