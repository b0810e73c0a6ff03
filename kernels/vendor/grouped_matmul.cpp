// SPDX-License-Identifier: Apache-2.0
#include "kernels/vendor/grouped_matmul.h"

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <algorithm>

namespace kernels::vendor {
namespace {

void check(cublasStatus_t status, const char* call) {
  if (status != CUBLAS_STATUS_SUCCESS) throw DeviceError(std::string(call) + ": " + cublasGetStatusString(status));
}

std::vector<cublasOperation_t> operations(const std::vector<int>& transposes) {
  std::vector<cublasOperation_t> out;
  for (const int transpose : transposes) out.push_back(transpose ? CUBLAS_OP_T : CUBLAS_OP_N);
  return out;
}

constexpr int kHopper = 9;
constexpr double kLong = 1e10;  // flops of one expert: 35 us in a grouped kernel, 15 alone and some to choose how

const void* behind(const void* base, std::int64_t elements, Number number) {
  return static_cast<const char*>(base) + elements * bytes_of(number);
}

void* behind(void* base, std::int64_t elements, Number number) {
  return static_cast<char*>(base) + elements * bytes_of(number);
}

}  // namespace

struct GroupedMatmulLibrary::State {
  cublasHandle_t handle = nullptr;
  ~State() {
    if (handle) cublasDestroy(handle);
  }
};

GroupedMatmulLibrary::GroupedMatmulLibrary() : state_(std::make_unique<State>()) {
  check(cublasCreate(&state_->handle), "cublasCreate");
}

GroupedMatmulLibrary::~GroupedMatmulLibrary() = default;

std::string GroupedMatmulLibrary::run(const Groups& groups, const MatmulTypes& types, const void* addresses,
                                      void* workspace, Stream stream) {
  if (groups.count() == 0) return {};
  cublasHandle_t handle = state_->handle;
  check(cublasSetStream(handle, stream), "cublasSetStream");  // forgets the workspace
  check(cublasSetWorkspace(handle, workspace, kWorkspace), "cublasSetWorkspace");
  const auto first = operations(groups.transpose_first), second = operations(groups.transpose_second);
  const std::vector<int> one_each(groups.m.size(), 1);
  auto* const of_first = static_cast<const void* const*>(addresses);
  auto* const of_second = of_first + groups.count();
  auto* const of_results = const_cast<void* const*>(of_second + groups.count());
  const cudaDataType_t type = types.a == Number::f32 ? CUDA_R_32F : CUDA_R_16BF;
  const cublasStatus_t status = cublasGemmGroupedBatchedEx(
      handle, first.data(), second.data(), groups.m.data(), groups.n.data(), groups.k.data(), groups.alpha.data(),
      of_first, type, groups.ld_first.data(), of_second, type, groups.ld_second.data(), groups.beta.data(), of_results,
      type, groups.ld_c.data(), groups.count(), one_each.data(), CUBLAS_COMPUTE_32F);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_ARCH_MISMATCH) {
    return std::string("cublasGemmGroupedBatchedEx: ") + cublasGetStatusString(status);
  }
  check(status, "cublasGemmGroupedBatchedEx");
  return {};
}

bool faster_one_by_one(const std::vector<ExpertMatmul>& experts) {
  int device = 0, major = 0;
  if (cudaGetDevice(&device) != cudaSuccess) return false;
  if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess) return false;
  double flops = 0;
  int busy = 0;
  for (const auto& [matmul, a, b, c] : experts) {
    flops += 2.0 * static_cast<double>(matmul.m) * static_cast<double>(matmul.n) * static_cast<double>(matmul.k);
    busy += matmul.k > 0 && matmul.m > 0 ? 1 : 0;
  }
  return major >= kHopper && flops >= kLong * busy;
}

void run_one_by_one(const std::vector<ExpertMatmul>& experts, const MatmulTypes& types, const void* a, const void* b,
                    void* c, MatmulLibrary& library, Stream stream) {
  for (const ExpertMatmul& e : experts) {
    if (e.matmul.k == 0) continue;
    library.run(e.matmul, types,
                {.a = behind(a, e.a, types.a), .b = behind(b, e.b, types.b), .c = behind(c, e.c, types.c)}, stream);
  }
}

void clear_empty(const std::vector<ExpertMatmul>& experts, const MatmulTypes& types, void* c, Stream stream) {
  for (const ExpertMatmul& e : experts) {
    if (e.matmul.k > 0) continue;
    const auto bytes = static_cast<std::size_t>(e.matmul.m * e.matmul.n * bytes_of(types.c));
    if (cudaMemsetAsync(behind(c, e.c, types.c), 0, bytes, stream) != cudaSuccess) {
      throw DeviceError("cudaMemsetAsync of a weight gradient");
    }
  }
}

}  // namespace kernels::vendor
