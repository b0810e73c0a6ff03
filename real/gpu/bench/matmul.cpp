// real/gpu/bench/matmul.cpp -- matmuls by cuBLASLt: forward of a linear layer, or where they add to C its weights'
// gradient. SPDX-License-Identifier: Apache-2.0
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
  return {.a = in, .b = in, .c = s.out == spec::Dtype::fp32 ? Number::f32 : Number::bf16};
}

kernels::Matmul matmul_of(const config::MatmulRow& s) {
  kernels::Matmul out{.m = s.m, .n = s.n, .k = s.k};
  out.transpose_a = s.accumulates;
  out.transpose_b = !s.accumulates;
  out.beta = s.accumulates ? 1 : 0;
  return out;
}

}  // namespace

Work prepared(const config::MatmulRow& s, Kit& kit) {
  const MatmulTypes types = types_of(s);
  const Filling in = narrow(s) ? Filling::fp8 : Filling::bf16;
  MatmulOperands operands{.a = kit.arena.numbers(s.m * s.k, in), .b = kit.arena.numbers(s.k * s.n, in)};
  operands.c = kit.arena.numbers(s.m * s.n, types.c == Number::f32 ? Filling::f32 : Filling::bf16);
  if (narrow(s)) operands.scale_a = operands.scale_b = kit.arena.floats(1);
  return [&kit, matmul = matmul_of(s), types, operands](const Stream& stream) {
    kit.matmuls.run(matmul, types, operands, stream.get());
  };
}

}  // namespace real
