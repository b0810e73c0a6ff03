// tests/emulated_gpu/libraries/versions.cpp -- each library is of the version that its header is.
// SPDX-License-Identifier: Apache-2.0
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cudnn.h>
#include <cupti.h>
#include <nccl.h>

cublasStatus_t cublasGetProperty(libraryPropertyType type, int* value) {
  *value = type == MAJOR_VERSION ? CUBLAS_VER_MAJOR : type == MINOR_VERSION ? CUBLAS_VER_MINOR : CUBLAS_VER_PATCH;
  return CUBLAS_STATUS_SUCCESS;
}
size_t cublasLtGetVersion() { return CUBLAS_VER_MAJOR * 10000 + CUBLAS_VER_MINOR * 100 + CUBLAS_VER_PATCH; }
size_t cudnnGetVersion() { return CUDNN_VERSION; }
CUptiResult cuptiGetVersion(uint32_t* version) {
  *version = CUPTI_API_VERSION;
  return CUPTI_SUCCESS;
}
ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}
