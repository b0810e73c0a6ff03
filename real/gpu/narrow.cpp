// real/gpu/narrow.cpp -- the GPU backend's formats of 8 bits: casts by kernels/cast.h, matmuls by cuBLASLt.
// SPDX-License-Identifier: Apache-2.0
#include "real/gpu/gpu_backend.h"
#include "real/measure/element.h"

namespace real {

namespace gpu = kernels::gpu;
namespace vendor = kernels::vendor;

namespace {

vendor::Number number(kernels::Fp8 format) {
  return format == kernels::Fp8::e4m3 ? vendor::Number::e4m3 : vendor::Number::e5m2;
}

/// Scales of blocks are multiplied in between partial sums, which are promoted so.
bool sums_fast(kernels::Scales scales) { return scales == kernels::Scales::tensor || scales == kernels::Scales::rows; }

}  // namespace

void GpuBackend::largest_magnitude(const Tensor& x, const Tensor& magnitude) {
  launch([&] { gpu::largest_magnitude(x.count, element_of(x.meaning), at(x), as<float>(magnitude), raw()); });
}

void GpuBackend::scale_for(kernels::Fp8 format, const Tensor& magnitude, const Tensor& scale) {
  launch([&] { gpu::scale_for(format, as<float>(magnitude), as<float>(scale), raw()); });
}

void GpuBackend::cast(const kernels::Cast& c, const Tensor& x, const Tensor& scale, const Tensor& codes,
                      const Tensor& turned, const Tensor& magnitude) {
  launch([&] {
    gpu::cast(c, element_of(x.meaning), at(x), as<float>(scale), as<std::uint8_t>(codes), as<std::uint8_t>(turned),
              as<float>(magnitude), raw());
  });
}

void GpuBackend::turn(std::int64_t rows, std::int64_t columns, const Tensor& codes, const Tensor& turned) {
  launch([&] { gpu::turn(rows, columns, as<std::uint8_t>(codes), as<std::uint8_t>(turned), raw()); });
}

void GpuBackend::mx_cast(const kernels::MxCast& c, const Tensor& x, const Tensor& codes, const Tensor& scales,
                         const Tensor& turned, const Tensor& turned_scales) {
  launch([&] {
    gpu::mx_cast(c, element_of(x.meaning), at(x), as<std::uint8_t>(codes), as<std::uint8_t>(scales),
                 as<std::uint8_t>(turned), as<std::uint8_t>(turned_scales), raw());
  });
}

void GpuBackend::block_cast(const kernels::BlockCast& c, const Tensor& x, const Tensor& codes, const Tensor& scales,
                            const Tensor& turned, const Tensor& turned_scales) {
  launch([&] {
    gpu::block_cast(c, element_of(x.meaning), at(x), as<std::uint8_t>(codes), as<float>(scales),
                    as<std::uint8_t>(turned), as<float>(turned_scales), raw());
  });
}

void GpuBackend::narrow_matmul(const kernels::Matmul& m, const Narrow& a, const Narrow& b, const Tensor& c,
                               bool promotes) {
  if (m.m == 0 || m.n == 0) return;
  const bool exact = element_of(c.meaning) == kernels::Element::f32;
  const vendor::MatmulTypes types{.a = number(a.format),
                                  .b = number(b.format),
                                  .c = exact ? vendor::Number::f32 : vendor::Number::bf16,
                                  .fast_sums = !promotes && sums_fast(a.scales),
                                  .scales_a = a.scales,
                                  .scales_b = b.scales};
  launch([&] {
    matmuls().run(m, types,
                  {.a = at(a.codes), .b = at(b.codes), .c = at(c), .scale_a = at(a.scale), .scale_b = at(b.scale)},
                  raw());
  });
}

void GpuBackend::narrow_grouped_matmul(std::span<const NarrowMatmul> experts, bool promotes) {
  if (!experts.empty()) experts_one_by_one_.insert("cuBLAS has no grouped matmul for operands in fp8");
  for (const auto& [matmul, a, b, c] : experts) narrow_matmul(matmul, a, b, c, promotes);
}

}  // namespace real
