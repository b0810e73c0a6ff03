// real/cpu/narrow.cpp -- the CPU backend's formats of 8 bits: the numbers that codes and scales stand for, in double.
// SPDX-License-Identifier: Apache-2.0
#include "real/cpu/cpu_backend.h"
#include "real/cpu/memory.h"

namespace real {

using cpu::numbers;
namespace reference = kernels::reference;

namespace {

std::vector<double> values(const Narrow& x, std::int64_t rows, std::int64_t columns) {
  std::vector<double> out(static_cast<std::size_t>(rows * columns));
  if (x.scales == kernels::Scales::mx) {
    reference::mx_values({rows, columns}, numbers(x.codes), numbers(x.scale), out);
  } else {
    reference::block_values({x.scales, rows, columns}, numbers(x.codes), numbers(x.scale), out);
  }
  return out;
}

}  // namespace

void CpuBackend::largest_magnitude(const Tensor& x, const Tensor& magnitude) {
  reference::largest_magnitude(numbers(x), numbers(magnitude));
}

void CpuBackend::scale_for(kernels::Fp8 format, const Tensor& magnitude, const Tensor& scale) {
  reference::scale_for(format, numbers(magnitude), numbers(scale));
}

void CpuBackend::cast(const kernels::Cast& c, const Tensor& x, const Tensor& scale, const Tensor& codes,
                      const Tensor& turned, const Tensor& magnitude) {
  reference::cast(c, numbers(x), numbers(scale), numbers(codes), numbers(turned));
  if (magnitude) largest_magnitude(x, magnitude);
}

void CpuBackend::turn(std::int64_t rows, std::int64_t columns, const Tensor& codes, const Tensor& turned) {
  reference::turn(rows, columns, numbers(codes), numbers(turned));
}

void CpuBackend::mx_cast(const kernels::MxCast& c, const Tensor& x, const Tensor& codes, const Tensor& scales,
                         const Tensor& turned, const Tensor& turned_scales) {
  reference::mx_cast(c, numbers(x), numbers(codes), numbers(scales), numbers(turned), numbers(turned_scales));
}

void CpuBackend::block_cast(const kernels::BlockCast& c, const Tensor& x, const Tensor& codes, const Tensor& scales,
                            const Tensor& turned, const Tensor& turned_scales) {
  reference::block_cast(c, numbers(x), numbers(codes), numbers(scales), numbers(turned), numbers(turned_scales));
}

void CpuBackend::narrow_matmul(const kernels::Matmul& m, const Narrow& a, const Narrow& b, const Tensor& c,
                               bool /*promotes*/) {
  if (a.scales != kernels::Scales::tensor) {
    return reference::matmul(m, values(a, m.m, m.k), values(b, m.n, m.k), numbers(c));
  }
  kernels::Matmul scaled = m;
  scaled.alpha *= numbers(a.scale)[0] * numbers(b.scale)[0];
  matmul(scaled, a.codes, b.codes, c);
}

void CpuBackend::narrow_grouped_matmul(std::span<const NarrowMatmul> experts, bool promotes) {
  for (const auto& [matmul, a, b, c] : experts) narrow_matmul(matmul, a, b, c, promotes);
}

}  // namespace real
