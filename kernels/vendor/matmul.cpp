// kernels/vendor/matmul.cpp -- see matmul.h. cuBLASLt counts columns first: our row-major C = A B is its C' = B' A', so
// B is its first operand, and what is stored row-major is transposed to it without being moved.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/vendor/matmul.h"

#include <cuda_runtime.h>

#include <map>
#include <tuple>

#include "kernels/vendor/lt.h"

namespace kernels::vendor {
namespace {

bool is_fp8(Number number) { return number == Number::e4m3 || number == Number::e5m2; }

cublasLtMatmulMatrixScale_t mode_of(Scales scales) {
  if (scales == Scales::tensor) return CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;
  if (scales == Scales::mx) return CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0;
#if CUBLAS_VERSION >= 120900
  if (scales == Scales::rows) return CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F;
  if (scales == Scales::lines) return CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F;
  return CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
#else
  throw DeviceError("fp8 with scales for rows and blocks of 128 needs cuBLAS 12.9, and this was built with " +
                    std::to_string(CUBLAS_VERSION));
#endif
}

std::string where_fp8_is_narrow(const Matmul& p, const MatmulTypes& types) {
  const bool whole = p.m % 16 == 0 && p.n % 16 == 0 && p.k % 16 == 0;
  return whole || !is_fp8(types.a) ? "" : "; in fp8 it wants sides of a multiple of 16";
}

std::string beside_scales(const MatmulTypes& types) {
  switch (types.scales_a) {
    case Scales::tensor: return "";
    case Scales::mx: return " and a scale for every 32 numbers, which Blackwell takes alone";
    default: return " and scales for rows or blocks of 128, which Hopper takes alone";
  }
}

/// What is stored as `rows` x `columns` row-major.
void describe(Layout& layout, Number number, std::int64_t rows, std::int64_t columns) {
  check(cublasLtMatrixLayoutCreate(&layout.handle, data_type(number), columns, rows, columns),
        "cublasLtMatrixLayoutCreate");
}

/// Addresses on the GPU. The heuristic reads none, but refuses other modes than one scale a tensor without any.
struct Scaling {
  const void *a = nullptr, *b = nullptr;
};

struct Plan {
  Description description;
  Layout a, b, c;
  cublasLtMatmulHeuristicResult_t chosen{};

  Plan(cublasLtHandle_t handle, const Matmul& p, const MatmulTypes& types, const Scaling& scaling,
       std::uint32_t alignment) {
    check(cublasLtMatmulDescCreate(&description.handle, CUBLAS_COMPUTE_32F, CUDA_R_32F), "cublasLtMatmulDescCreate");
    set(description, CUBLASLT_MATMUL_DESC_TRANSA, p.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(description, CUBLASLT_MATMUL_DESC_TRANSB, p.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
    if (types.sms > 0) set(description, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, static_cast<std::int32_t>(types.sms));
    if (types.fast_sums) set(description, CUBLASLT_MATMUL_DESC_FAST_ACCUM, std::int8_t{1});
    if (is_fp8(types.a)) {
      set(description, CUBLASLT_MATMUL_DESC_A_SCALE_MODE, mode_of(types.scales_b));
      set(description, CUBLASLT_MATMUL_DESC_B_SCALE_MODE, mode_of(types.scales_a));
      scale(scaling);
    }
    describe(a, types.a, p.transpose_a ? p.k : p.m, p.transpose_a ? p.m : p.k);
    describe(b, types.b, p.transpose_b ? p.n : p.k, p.transpose_b ? p.k : p.n);
    describe(c, types.c, p.m, p.n);
    choose(handle, p, types, alignment);
  }

  void scale(const Scaling& by) {
    set(description, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, by.b);
    set(description, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, by.a);
  }

  void choose(cublasLtHandle_t handle, const Matmul& p, const MatmulTypes& types, std::uint32_t alignment) {
    Preference preference;
    check(cublasLtMatmulPreferenceCreate(&preference.handle), "cublasLtMatmulPreferenceCreate");
    set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, MatmulLibrary::kWorkspace);
    // Its own assumption of 256 would be wrong for tensors inside of flat buffers.
    for (auto operand : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                         CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
      set(preference, operand, alignment);
    }
    int found = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        handle, description.handle, b.handle, a.handle, c.handle, c.handle, preference.handle, 1, &chosen, &found);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED || (status == CUBLAS_STATUS_SUCCESS && found == 0)) {
      throw DeviceError("cuBLASLt has no algorithm for a matmul of " + std::to_string(p.m) + " x " +
                        std::to_string(p.n) + " x " + std::to_string(p.k) + " with these types and transposes" +
                        beside_scales(types) + where_fp8_is_narrow(p, types));
    }
    check(status, "cublasLtMatmulAlgoGetHeuristic");
  }
};

constexpr std::size_t kMostPlans = 1 << 14;
using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, bool, bool, Number, Number, Number, int, bool, Scales,
                       Scales, std::uint32_t>;

}  // namespace

struct MatmulLibrary::State {
  cublasLtHandle_t handle = nullptr;
  void *workspace = nullptr, *own = nullptr;
  std::map<Key, Plan> plans;

  Plan& plan(const Matmul& p, const MatmulTypes& t, const Scaling& scaling, std::uint32_t alignment) {
    if (plans.size() >= kMostPlans) plans.clear();  // routed experts have other sizes in every step
    const Key key{p.m, p.n,   p.k,         p.transpose_a, p.transpose_b, t.a,      t.b,
                  t.c, t.sms, t.fast_sums, t.scales_a,    t.scales_b,    alignment};
    return plans.try_emplace(key, handle, p, t, scaling, alignment).first->second;
  }
  ~State() {
    plans.clear();
    cudaFree(own);
    if (handle) cublasLtDestroy(handle);
  }
};

MatmulLibrary::MatmulLibrary(void* workspace) : state_(std::make_unique<State>()) {
  check(cublasLtCreate(&state_->handle), "cublasLtCreate");
  state_->workspace = workspace;
  if (workspace) return;
  if (const cudaError_t error = cudaMalloc(&state_->own, kWorkspace); error != cudaSuccess) {
    throw DeviceError(std::string("cuBLASLt's workspace: ") + cudaGetErrorString(error));
  }
  state_->workspace = state_->own;
}

MatmulLibrary::~MatmulLibrary() = default;

void MatmulLibrary::run(const Matmul& p, const MatmulTypes& types, const MatmulOperands& o, Stream stream) {
  const void* addend = o.addend ? o.addend : o.c;
  const Scaling scaling{.a = o.scale_a, .b = o.scale_b};
  Plan& plan = state_->plan(p, types, scaling, alignment_of({o.a, o.b, addend, o.c}));
  if (is_fp8(types.a)) plan.scale(scaling);
  const auto alpha = static_cast<float>(p.alpha), beta = static_cast<float>(p.beta);
  check(cublasLtMatmul(state_->handle, plan.description.handle, &alpha, o.b, plan.b.handle, o.a, plan.a.handle, &beta,
                       addend, plan.c.handle, o.c, plan.c.handle, &plan.chosen.algo, state_->workspace, kWorkspace,
                       stream),
        "cublasLtMatmul");
}

std::string MatmulLibrary::algorithm(const Matmul& p, const MatmulTypes& types) {
  const Scaling somewhere{.a = state_->workspace, .b = state_->workspace};
  const cublasLtMatmulHeuristicResult_t& chosen = state_->plan(p, types, somewhere, kMostAligned).chosen;
  const auto value = [&](cublasLtMatmulAlgoConfigAttributes_t attribute) {
    int found = -1;
    std::size_t written = 0;
    cublasLtMatmulAlgoConfigGetAttribute(&chosen.algo, attribute, &found, sizeof found, &written);
    return std::to_string(found);
  };
  return "algorithm " + value(CUBLASLT_ALGO_CONFIG_ID) + " tile " + value(CUBLASLT_ALGO_CONFIG_TILE_ID) + " stages " +
         value(CUBLASLT_ALGO_CONFIG_STAGES_ID) + " split-k " + value(CUBLASLT_ALGO_CONFIG_SPLITK_NUM) + " waves " +
         std::to_string(chosen.wavesCount);
}

}  // namespace kernels::vendor
