// kernels/vendor/batched_matmul.cpp -- see batched_matmul.h. cuBLASLt counts columns first, as matmul.cpp says: B is
// its first operand. SPDX-License-Identifier: Apache-2.0
#include "kernels/vendor/batched_matmul.h"

#include <array>
#include <map>

#include "kernels/vendor/lt.h"

namespace kernels::vendor {
namespace {

template <class Value>
void set(Layout& layout, cublasLtMatrixLayoutAttribute_t attribute, const Value& value) {
  check(cublasLtMatrixLayoutSetAttribute(layout.handle, attribute, &value, sizeof value),
        "cublasLtMatrixLayoutSetAttribute");
}

/// What is stored as `rows` x `columns` row-major, `count` times.
void describe(Layout& layout, Number type, std::int64_t rows, std::int64_t columns, Strides strides,
              std::int64_t count) {
  check(cublasLtMatrixLayoutCreate(&layout.handle, data_type(type), columns, rows, strides.row),
        "cublasLtMatrixLayoutCreate");
  set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(count));
  set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, strides.member);
}

/// 16 bytes where every row of every member begins at a multiple of them, else those of an element.
std::uint32_t alignment(const BatchedMatmul& p, Number type, std::array<const void*, 3> operands) {
  const std::int64_t element = type == Number::bf16 ? 2 : 4;
  bool all = true;
  for (const std::int64_t stride : {p.a.row, p.a.member, p.b.row, p.b.member, p.c.row, p.c.member}) {
    all = all && stride * element % 16 == 0;
  }
  return all && alignment_of({operands[0], operands[1], operands[2]}) == kMostAligned
             ? kMostAligned
             : static_cast<std::uint32_t>(element);
}

struct Plan {
  Description description;
  Layout a, b, c;
  cublasLtMatmulHeuristicResult_t chosen{};

  Plan(cublasLtHandle_t handle, const BatchedMatmul& p, Number type, std::uint32_t alignment) {
    const Matmul& m = p.each;
    check(cublasLtMatmulDescCreate(&description.handle, CUBLAS_COMPUTE_32F, CUDA_R_32F), "cublasLtMatmulDescCreate");
    set(description, CUBLASLT_MATMUL_DESC_TRANSA, m.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(description, CUBLASLT_MATMUL_DESC_TRANSB, m.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
    describe(a, type, m.transpose_a ? m.k : m.m, m.transpose_a ? m.m : m.k, p.a, p.count);
    describe(b, type, m.transpose_b ? m.n : m.k, m.transpose_b ? m.k : m.n, p.b, p.count);
    describe(c, type, m.m, m.n, p.c, p.count);
    choose(handle, p, alignment);
  }

  void choose(cublasLtHandle_t handle, const BatchedMatmul& p, std::uint32_t alignment) {
    Preference preference;
    check(cublasLtMatmulPreferenceCreate(&preference.handle), "cublasLtMatmulPreferenceCreate");
    set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::size_t{0});
    for (auto operand : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                         CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
      set(preference, operand, alignment);
    }
    int found = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        handle, description.handle, b.handle, a.handle, c.handle, c.handle, preference.handle, 1, &chosen, &found);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED || (status == CUBLAS_STATUS_SUCCESS && found == 0)) {
      throw DeviceError("cuBLASLt has no algorithm for " + std::to_string(p.count) + " matmuls of " +
                        std::to_string(p.each.m) + " x " + std::to_string(p.each.n) + " x " + std::to_string(p.each.k) +
                        " with these strides");
    }
    check(status, "cublasLtMatmulAlgoGetHeuristic");
  }
};

using Key = std::array<std::int64_t, 14>;

Key key_of(const BatchedMatmul& p, Number type, std::uint32_t alignment) {
  const Matmul& m = p.each;
  return {m.m,
          m.n,
          m.k,
          m.transpose_a,
          m.transpose_b,
          p.count,
          p.a.row,
          p.a.member,
          p.b.row,
          p.b.member,
          p.c.row,
          p.c.member,
          static_cast<std::int64_t>(type),
          static_cast<std::int64_t>(alignment)};
}

}  // namespace

struct BatchedMatmulLibrary::State {
  cublasLtHandle_t handle = nullptr;
  std::map<Key, Plan> plans;
  ~State() {
    plans.clear();
    if (handle) cublasLtDestroy(handle);
  }
};

BatchedMatmulLibrary::BatchedMatmulLibrary() : state_(std::make_unique<State>()) {
  check(cublasLtCreate(&state_->handle), "cublasLtCreate");
}

BatchedMatmulLibrary::~BatchedMatmulLibrary() = default;

void BatchedMatmulLibrary::run(const BatchedMatmul& p, Number type, const void* a, const void* b, void* c,
                               Stream stream) {
  const std::uint32_t aligned = alignment(p, type, {a, b, c});
  Plan& plan = state_->plans.try_emplace(key_of(p, type, aligned), state_->handle, p, type, aligned).first->second;
  const auto alpha = static_cast<float>(p.each.alpha), beta = static_cast<float>(p.each.beta);
  check(cublasLtMatmul(state_->handle, plan.description.handle, &alpha, b, plan.b.handle, a, plan.a.handle, &beta, c,
                       plan.c.handle, c, plan.c.handle, &plan.chosen.algo, nullptr, 0, stream),
        "cublasLtMatmul");
}

}  // namespace kernels::vendor
