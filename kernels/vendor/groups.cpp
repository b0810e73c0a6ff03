// kernels/vendor/groups.cpp -- what cuBLAS is told of grouped matmuls; needs no GPU. See grouped_matmul.h.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/vendor/grouped_matmul.h"

namespace kernels::vendor {
namespace {

const void* behind(const void* base, std::int64_t elements, Number number) {
  return static_cast<const char*>(base) + elements * bytes_of(number);
}

}  // namespace

Groups groups_of(const std::vector<ExpertMatmul>& experts, const MatmulTypes& types, const void* a, const void* b,
                 void* c) {
  Groups out;
  std::vector<const void*> first, second, result;
  for (const auto& [matmul, at_a, at_b, at_c] : experts) {
    if (matmul.k == 0) continue;
    out.transpose_first.push_back(matmul.transpose_b);
    out.transpose_second.push_back(matmul.transpose_a);
    out.m.push_back(static_cast<int>(matmul.n));
    out.n.push_back(static_cast<int>(matmul.m));
    out.k.push_back(static_cast<int>(matmul.k));
    out.ld_first.push_back(static_cast<int>(matmul.transpose_b ? matmul.k : matmul.n));
    out.ld_second.push_back(static_cast<int>(matmul.transpose_a ? matmul.m : matmul.k));
    out.ld_c.push_back(static_cast<int>(matmul.n));
    out.alpha.push_back(static_cast<float>(matmul.alpha));
    out.beta.push_back(static_cast<float>(matmul.beta));
    first.push_back(behind(b, at_b, types.b));
    second.push_back(behind(a, at_a, types.a));
    result.push_back(behind(c, at_c, types.c));
  }
  for (const auto& some : {first, second, result}) out.addresses.insert(out.addresses.end(), some.begin(), some.end());
  return out;
}

std::string refused_as_grouped(const MatmulTypes& types) {
  if (types.a != types.b) return "operands of different types";
  if (types.a != Number::bf16 && types.a != Number::f32) return "operands in fp8";
  return types.a == types.c ? "" : "bf16 operands and fp32 results";
}

}  // namespace kernels::vendor
