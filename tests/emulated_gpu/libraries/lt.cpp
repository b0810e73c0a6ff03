// tests/emulated_gpu/libraries/lt.cpp -- cuBLASLt: what it is asked for, and what its documentation says that it
// refuses. SPDX-License-Identifier: Apache-2.0
#include <cublasLt.h>

#include <algorithm>
#include <cstring>

#include "tests/emulated_gpu/call.h"
#include "tests/emulated_gpu/libraries/matmul.h"
#include "tests/emulated_gpu/libraries/number.h"
#include "tests/emulated_gpu/runtime.h"

using namespace emulated_gpu;

struct cublasLtContext {};

namespace {

struct Description {
  cublasOperation_t transpose_a = CUBLAS_OP_N, transpose_b = CUBLAS_OP_N;
  std::int32_t sms = 0;
  std::int8_t fast_sums = 0;
  cublasLtMatmulMatrixScale_t scale_mode_a = CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;
  cublasLtMatmulMatrixScale_t scale_mode_b = CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;
  const void *scale_a = nullptr, *scale_b = nullptr;
};

struct Preference {
  std::uint64_t workspace = 0;
  std::uint32_t alignment_a = 256, alignment_b = 256, alignment_c = 256, alignment_d = 256;
};

/// What cublasLtMatmulAlgo_t holds here: for what it was chosen.
struct Chosen {
  std::uint64_t product = 0, workspace = 0;
  std::uint32_t alignment_a = 0, alignment_b = 0, alignment_c = 0, alignment_d = 0;
};
static_assert(sizeof(Chosen) <= sizeof(cublasLtMatmulAlgo_t));

template <class Ours, class Theirs>
Ours& ours(Theirs* handle) {
  return *reinterpret_cast<Ours*>(handle);
}
template <class Ours, class Theirs>
const Ours& ours(const Theirs* handle) {
  return *reinterpret_cast<const Ours*>(handle);
}

template <class Field>
cublasStatus_t set(Field& field, const void* value, std::size_t bytes) {
  if (bytes != sizeof field) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&field, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

std::uint64_t name_of(const Product& p) {
  std::uint64_t hash = 0;
  const auto add = [&](auto value) { hash = hash * 1099511628211u + static_cast<std::uint64_t>(value); };
  for (const Matrix& one : {p.a, p.b, p.c}) {
    add(one.type), add(one.rows), add(one.columns), add(one.leading), add(one.batch), add(one.stride);
  }
  add(p.transpose_a), add(p.transpose_b), add(p.scale_a), add(p.scale_b);
  return hash;
}

Product product_of(const Description& d, const Matrix& a, const Matrix& b, const Matrix& c) {
  return {a, b, c, d.transpose_a == CUBLAS_OP_T, d.transpose_b == CUBLAS_OP_T, d.scale_mode_a, d.scale_mode_b};
}

bool fits_together(const Product& p) {
  const std::int64_t k_of_b = p.transpose_b ? p.b.columns : p.b.rows;
  const std::int64_t m_of_a = p.transpose_a ? p.a.columns : p.a.rows, n_of_b = p.transpose_b ? p.b.rows : p.b.columns;
  const bool wide = p.a.leading >= p.a.rows && p.b.leading >= p.b.rows && p.c.leading >= p.c.rows;
  return k_of_b == p.k() && m_of_a == p.m() && n_of_b == p.n() && wide && p.k() > 0 && p.m() > 0 && p.n() > 0 &&
         p.a.batch == p.c.batch && p.b.batch == p.c.batch;
}

/// cuBLAS documentation, "cublasLtMatmul()": the table of types, and what is required of FP8 kernels.
bool takes(const Product& p) {
  const auto in_16_bytes = [](std::int64_t count, cudaDataType type) {
    return count * static_cast<std::int64_t>(bytes_of(type)) % 16 == 0;
  };
  if (!is_fp8(p.a.type) && !is_fp8(p.b.type)) {
    if (p.a.type != p.b.type) return false;
    return p.a.type == CUDA_R_32F ? p.c.type == CUDA_R_32F : p.c.type == CUDA_R_32F || p.c.type == CUDA_R_16BF;
  }
  if (!is_fp8(p.a.type) || !is_fp8(p.b.type) || (p.a.type == CUDA_R_8F_E5M2 && p.b.type == CUDA_R_8F_E5M2))
    return false;
  if (capability() < 89) return false;
  if (capability() < 100 && !(p.transpose_a && !p.transpose_b)) return false;
  for (const Matrix& one : {p.a, p.b, p.c}) {
    if (!in_16_bytes(one.rows, one.type) || !in_16_bytes(one.leading, one.type)) return false;
  }
  using enum cublasLtMatmulMatrixScale_t;
  const auto both = [&](auto mode) { return p.scale_a == mode && p.scale_b == mode; };
  if (both(CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F)) return true;
  if (both(CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0)) return capability() >= 100;
  if (capability() != 90) return false;
  if (both(CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F)) return true;
  const auto in_blocks = [](auto mode) {
    return mode == CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F || mode == CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
  };
  // Scales of lines lie in fours of rows; seen with cuBLASLt 13.1 on an H200.
  const auto fours = [](auto mode, std::int64_t rows) {
    return mode != CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F || rows % 4 == 0;
  };
  if (!fours(p.scale_a, p.m()) || !fours(p.scale_b, p.n())) return false;
  return in_blocks(p.scale_a) && in_blocks(p.scale_b) && !both(CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F);
}

/// Any other mode than a scale a tensor wants the scales' addresses before it chooses; seen as above.
bool misses_scales(const Description& of, const Product& p) {
  const auto missing = [](cudaDataType type, auto mode, const void* scales) {
    return is_fp8(type) && mode != CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F && scales == nullptr;
  };
  return missing(p.a.type, of.scale_mode_a, of.scale_a) || missing(p.b.type, of.scale_mode_b, of.scale_b);
}

bool is_aligned(const void* address, std::uint32_t alignment) {
  return reinterpret_cast<std::uintptr_t>(address) % alignment == 0;
}

}  // namespace

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = new cublasLtContext;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
const char* cublasLtGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_EXECUTION_FAILED ? Device::current().failure().c_str()
                                                  : "the emulated cuBLASLt refuses this";
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* desc, cublasComputeType_t compute, cudaDataType_t scale) {
  if (compute != CUBLAS_COMPUTE_32F || scale != CUDA_R_32F) return CUBLAS_STATUS_NOT_SUPPORTED;
  *desc = reinterpret_cast<cublasLtMatmulDesc_t>(new Description);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
  delete &ours<Description>(desc);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, std::size_t bytes) {
  auto& d = ours<Description>(desc);
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA: return set(d.transpose_a, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB: return set(d.transpose_b, value, bytes);
    case CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET: return set(d.sms, value, bytes);
    case CUBLASLT_MATMUL_DESC_FAST_ACCUM: return set(d.fast_sums, value, bytes);
    case CUBLASLT_MATMUL_DESC_A_SCALE_MODE: return set(d.scale_mode_a, value, bytes);
    case CUBLASLT_MATMUL_DESC_B_SCALE_MODE: return set(d.scale_mode_b, value, bytes);
    case CUBLASLT_MATMUL_DESC_A_SCALE_POINTER: return set(d.scale_a, value, bytes);
    case CUBLASLT_MATMUL_DESC_B_SCALE_POINTER: return set(d.scale_b, value, bytes);
    default: return CUBLAS_STATUS_INVALID_VALUE;
  }
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type, std::uint64_t rows,
                                          std::uint64_t columns, std::int64_t leading) {
  *layout = reinterpret_cast<cublasLtMatrixLayout_t>(
      new Matrix{type, static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns), leading});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete &ours<Matrix>(layout);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute, const void* value,
                                                std::size_t bytes) {
  auto& matrix = ours<Matrix>(layout);
  std::int32_t count = 0;
  switch (attribute) {
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
      if (const cublasStatus_t status = set(count, value, bytes); status != CUBLAS_STATUS_SUCCESS) return status;
      matrix.batch = count;
      return CUBLAS_STATUS_SUCCESS;
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET: return set(matrix.stride, value, bytes);
    default: return CUBLAS_STATUS_INVALID_VALUE;
  }
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = reinterpret_cast<cublasLtMatmulPreference_t>(new Preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete &ours<Preference>(preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, const void* value,
                                                    std::size_t bytes) {
  auto& p = ours<Preference>(preference);
  switch (attribute) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES: return set(p.workspace, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES: return set(p.alignment_a, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES: return set(p.alignment_b, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES: return set(p.alignment_c, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES: return set(p.alignment_d, value, bytes);
    default: return CUBLAS_STATUS_INVALID_VALUE;
  }
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                                              cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
                                              cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t preference, int,
                                              cublasLtMatmulHeuristicResult_t results[], int* found) {
  *found = 0;
  const Product p = product_of(ours<Description>(desc), ours<Matrix>(a), ours<Matrix>(b), ours<Matrix>(c));
  if (!fits_together(p) || !(ours<Matrix>(d) == p.c)) return CUBLAS_STATUS_INVALID_VALUE;
  const auto& wanted = ours<Preference>(preference);
  const Chosen chosen{name_of(p),         wanted.workspace,   wanted.alignment_a,
                      wanted.alignment_b, wanted.alignment_c, wanted.alignment_d};
  const bool aligned = !is_fp8(p.a.type) ||
                       std::min({wanted.alignment_a, wanted.alignment_b, wanted.alignment_c, wanted.alignment_d}) >= 16;
  if (misses_scales(ours<Description>(desc), p)) return CUBLAS_STATUS_INVALID_VALUE;
  if (!takes(p) || !aligned) return CUBLAS_STATUS_NOT_SUPPORTED;
  results[0] = {};
  std::memcpy(&results[0].algo, &chosen, sizeof chosen);
  results[0].workspaceSize = wanted.workspace;
  *found = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t*, cublasLtMatmulAlgoConfigAttributes_t,
                                                    void* value, std::size_t bytes, std::size_t* written) {
  std::memset(value, 0, bytes);
  if (written) *written = bytes;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t desc, const void* alpha, const void* a,
                              cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout,
                              const void* beta, const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algo, void* workspace,
                              std::size_t workspace_bytes, cudaStream_t stream) {
  const auto& description = ours<Description>(desc);
  const Product p = product_of(description, ours<Matrix>(a_layout), ours<Matrix>(b_layout), ours<Matrix>(c_layout));
  if (!fits_together(p) || !(ours<Matrix>(d_layout) == p.c)) return CUBLAS_STATUS_INVALID_VALUE;
  const auto& chosen = ours<Chosen>(algo);
  if (chosen.product != name_of(p) || chosen.workspace > workspace_bytes || (chosen.workspace > 0 && !workspace)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (!is_aligned(a, chosen.alignment_a) || !is_aligned(b, chosen.alignment_b) || !is_aligned(c, chosen.alignment_c) ||
      !is_aligned(d, chosen.alignment_d)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (is_fp8(p.a.type) && (!description.scale_a || !description.scale_b)) return CUBLAS_STATUS_INVALID_VALUE;
  const Operands operands{a,
                          b,
                          c,
                          d,
                          description.scale_a,
                          description.scale_b,
                          *static_cast<const float*>(alpha),
                          *static_cast<const float*>(beta)};
  const int gpu = Device::current().index();
  const cudaError_t status = call([&] {
    Device::current().give(stream_of(stream), in_workspace("a matmul", workspace, chosen.workspace, gpu,
                                                           [=] { multiply(p, operands, gpu); }));
  });
  return status == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}
