// tests/emulated_gpu/libraries/cublas.cpp -- cuBLAS's grouped matmul. SPDX-License-Identifier: Apache-2.0
#include <cublas_v2.h>

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "tests/emulated_gpu/block.h"
#include "tests/emulated_gpu/call.h"
#include "tests/emulated_gpu/libraries/matmul.h"
#include "tests/emulated_gpu/memory.h"

using namespace emulated_gpu;

struct cublasContext {
  cudaStream_t stream = nullptr;
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
};

namespace {

/// Where the bytes of k numbers are a multiple of 16, or of 4, addresses have to be, too: else a GPU reads where it may
/// not. Source: cuBLAS documentation.
void expect_packs(const Product& p, std::initializer_list<const void*> addresses) {
  const std::int64_t row = p.k() * static_cast<std::int64_t>(sizeof(std::uint16_t));
  const std::uintptr_t pack = p.a.type != CUDA_R_16BF ? 1 : row % 16 == 0 ? 16 : row % 4 == 0 ? 4 : 2;
  for (const void* address : addresses) {
    if (reinterpret_cast<std::uintptr_t>(address) % pack != 0)
      throw Fault("a grouped matmul of operands that begin between packs");
  }
}

}  // namespace

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  *handle = new cublasContext;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
/// Forgets the workspace.
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  *handle = {stream, nullptr, 0};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace, std::size_t bytes) {
  handle->workspace = workspace;
  handle->workspace_bytes = bytes;
  return CUBLAS_STATUS_SUCCESS;
}
const char* cublasGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_EXECUTION_FAILED ? Device::current().failure().c_str()
                                                  : "the emulated cuBLAS refuses this";
}

/// Of the host are sizes and factors, read when it is called; of the device the addresses, read when the stream is
/// there.
cublasStatus_t cublasGemmGroupedBatchedEx(cublasHandle_t handle, const cublasOperation_t transa[],
                                          const cublasOperation_t transb[], const int m[], const int n[], const int k[],
                                          const void* alpha, const void* const a[], cudaDataType a_type,
                                          const int lda[], const void* const b[], cudaDataType b_type, const int ldb[],
                                          const void* beta, void* const c[], cudaDataType c_type, const int ldc[],
                                          int groups, const int size[], cublasComputeType_t compute) {
  if (compute != CUBLAS_COMPUTE_32F || a_type != b_type || a_type != c_type) return CUBLAS_STATUS_NOT_SUPPORTED;
  struct Group {
    Product product;
    float alpha, beta;
    int size;
  };
  std::vector<Group> all;
  std::size_t count = 0;
  for (int g = 0; g < groups; ++g) {
    const bool ta = transa[g] == CUBLAS_OP_T, tb = transb[g] == CUBLAS_OP_T;
    const Matrix of_a{a_type, ta ? k[g] : m[g], ta ? m[g] : k[g], lda[g]};
    const Matrix of_b{b_type, tb ? n[g] : k[g], tb ? k[g] : n[g], ldb[g]};
    all.push_back({{of_a, of_b, {c_type, m[g], n[g], ldc[g]}, ta, tb},
                   static_cast<const float*>(alpha)[g],
                   static_cast<const float*>(beta)[g],
                   size[g]});
    count += static_cast<std::size_t>(size[g]);
  }
  const int gpu = Device::current().index();
  const cudaError_t status = call([&] {
    Device::current().give(
        stream_of(handle->stream),
        in_workspace("a grouped matmul", handle->workspace, handle->workspace_bytes, gpu, [=] {
          const std::size_t bytes = count * sizeof(void*);
          expect_within(a, bytes, gpu, "addresses of first operands");
          expect_within(b, bytes, gpu, "addresses of second operands");
          expect_within(c, bytes, gpu, "addresses of results");
          std::size_t at = 0;
          for (const Group& group : all) {
            for (int i = 0; i < group.size; ++i, ++at) {
              expect_packs(group.product, {a[at], b[at], c[at]});
              multiply(group.product, {a[at], b[at], c[at], c[at], nullptr, nullptr, group.alpha, group.beta}, gpu);
            }
          }
        }));
  });
  return status == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}
