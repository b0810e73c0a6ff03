// real/gpu/bench/matmul.cpp -- matmuls by cuBLASLt: a linear layer's forward, its input gradient or its
// weights', added to C or not; those of experts, with as many rows each, by cuBLAS. SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/base/fault.h"
#include "real/gpu/bench/kit.h"

namespace real {
namespace {

using kernels::vendor::MatmulOperands;
using kernels::vendor::MatmulTypes;
using kernels::vendor::Number;

bool narrow(const config::MatmulRow& s) { return s.dtype == spec::Dtype::fp8; }

MatmulTypes types_of(const config::MatmulRow& s) {
  if (s.dtype != spec::Dtype::bf16 && !narrow(s)) {
    throw base::DeviceError("matmuls in " + std::string(spec::name(s.dtype)) + " are not timed");
  }
  const Number in = narrow(s) ? Number::e4m3 : Number::bf16;
  // Forwards alone are timed in fp8, whose sums stay in the tensor cores as the executor's do.
  return {.a = in, .b = in, .c = s.out == spec::Dtype::fp32 ? Number::f32 : Number::bf16, .fast_sums = narrow(s)};
}

kernels::Matmul matmul_of(const config::MatmulRow& s) {
  kernels::Matmul out{.m = s.m, .n = s.n, .k = s.k};
  out.transpose_a = s.over_tokens();
  out.transpose_b = !out.transpose_a && !s.input_gradient;
  out.beta = s.accumulates ? 1 : 0;
  return out;
}

/// The forward of `batch` experts, as the backend computes it.
Work grouped(const config::MatmulRow& s, const MatmulTypes& types, Kit& kit) {
  if (const std::string why = kernels::vendor::refused_as_grouped(types); !why.empty() || s.accumulates) {
    throw base::DeviceError("cuBLAS has no grouped matmul for " + (why.empty() ? "sums" : why));
  }
  if (!kit.grouped) kit.grouped.emplace();
  const kernels::GroupedMatmul shape{.in = s.k, .out = s.n, .rows = std::vector(s.batch, s.m)};
  const auto numbers = [&](std::int64_t count) { return kit.arena.numbers(s.batch * count, Filling::bf16); };
  const auto experts = kernels::of_experts(shape);
  void* const a = numbers(s.m * s.k);
  void* const b = numbers(s.k * s.n);
  void* const c = numbers(s.m * s.n);
  if (kernels::vendor::faster_one_by_one(experts)) {
    return [&kit, experts, types, a, b, c](const Stream& stream) {
      kernels::vendor::run_one_by_one(experts, types, a, b, c, kit.matmuls, stream.get());
    };
  }
  const auto groups = kernels::vendor::groups_of(experts, types, a, b, c);
  const std::size_t bytes = groups.addresses.size() * sizeof(void*);
  void* const addresses = kit.arena.room(static_cast<std::int64_t>(bytes));
  void* const workspace = kit.arena.room(kernels::vendor::GroupedMatmulLibrary::kWorkspace);
  check(cudaMemcpy(addresses, groups.addresses.data(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
  return [&library = *kit.grouped, groups, types, addresses, workspace](const Stream& stream) {
    const std::string refused = library.run(groups, types, addresses, workspace, stream.get());
    if (!refused.empty()) throw base::DeviceError(refused);
  };
}

}  // namespace

Work prepared(const config::MatmulRow& s, Kit& kit) {
  const MatmulTypes types = types_of(s);
  if (s.grouped) return grouped(s, types, kit);
  const Filling in = narrow(s) ? Filling::fp8 : Filling::bf16;
  MatmulOperands operands{.a = kit.arena.numbers(s.m * s.k, in), .b = kit.arena.numbers(s.k * s.n, in)};
  operands.c = kit.arena.numbers(s.m * s.n, types.c == Number::f32 ? Filling::f32 : Filling::bf16);
  if (narrow(s)) operands.scale_a = operands.scale_b = kit.arena.floats(1);
  return [&kit, matmul = matmul_of(s), types, operands](const Stream& stream) {
    kit.matmuls.run(matmul, types, operands, stream.get());
  };
}

}  // namespace real
