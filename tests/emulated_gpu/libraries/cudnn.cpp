// tests/emulated_gpu/libraries/cudnn.cpp -- cuDNN, which is not emulated: there is none on this GPU, so real mode's
// plain kernel computes attention. SPDX-License-Identifier: Apache-2.0
#include <cudnn.h>

#include <cstddef>
#include <cstdint>

cudnnStatus_t cudnnCreate(cudnnHandle_t*) { return CUDNN_STATUS_NOT_INITIALIZED; }
cudnnStatus_t cudnnDestroy(cudnnHandle_t) { return CUDNN_STATUS_NOT_INITIALIZED; }
cudnnStatus_t cudnnSetStream(cudnnHandle_t, cudaStream_t) { return CUDNN_STATUS_NOT_INITIALIZED; }
const char* cudnnGetErrorString(cudnnStatus_t) { return "cuDNN is not emulated"; }
void cudnnGetLastErrorString(char* text, std::size_t bytes) {
  if (bytes > 0) *text = 0;
}
cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t, cudnnBackendDescriptor_t*) {
  return CUDNN_STATUS_NOT_INITIALIZED;
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t) { return CUDNN_STATUS_NOT_INITIALIZED; }
cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t, cudnnBackendAttributeName_t,
                                       cudnnBackendAttributeType_t, std::int64_t, const void*) {
  return CUDNN_STATUS_NOT_INITIALIZED;
}
cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t, cudnnBackendAttributeName_t,
                                       cudnnBackendAttributeType_t, std::int64_t, std::int64_t*, void*) {
  return CUDNN_STATUS_NOT_INITIALIZED;
}
cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t) { return CUDNN_STATUS_NOT_INITIALIZED; }
cudnnStatus_t cudnnBackendExecute(cudnnHandle_t, cudnnBackendDescriptor_t, cudnnBackendDescriptor_t) {
  return CUDNN_STATUS_NOT_INITIALIZED;
}
