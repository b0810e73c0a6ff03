// tests/emulated_gpu/runtime.cpp -- CUDA's runtime API for one device with the CPU's memory. Defines what the tests
// call, in place of the toolkit's library; what is missing does not link. SPDX-License-Identifier: Apache-2.0
#include "tests/emulated_gpu/runtime.h"

#include <cuda_runtime_api.h>

#include <cstring>
#include <map>
#include <utility>

#include "tests/emulated_gpu/block.h"
#include "tests/emulated_gpu/memory.h"

namespace emulated_gpu {
namespace {

// Of an H100 (CUDA programming guide, table of technical specifications): what a block may have unasked and at most.
constexpr std::size_t kShared = 48 << 10, kMostShared = 227 << 10;

thread_local cudaError_t last_error = cudaSuccess;

/// What kernels were allowed beyond kShared, by their address.
std::map<const void*, std::size_t> allowed;

}  // namespace

void launch(const void* kernel, dim3 blocks, dim3 threads, std::size_t shared_bytes, CUstream_st*,
            const std::function<void()>& call) {
  const auto found = allowed.find(kernel);
  if (shared_bytes > (found == allowed.end() ? kShared : found->second)) {
    last_error = cudaErrorInvalidValue;
    return;
  }
  run_grid(blocks, threads, call);
}

}  // namespace emulated_gpu

using namespace emulated_gpu;

cudaError_t cudaMalloc(void** array, std::size_t bytes) {
  *array = allocate(bytes);
  return cudaSuccess;
}
cudaError_t cudaFree(void* array) {
  if (array) release(array);
  return cudaSuccess;
}
cudaError_t cudaMemset(void* array, int value, std::size_t bytes) {
  std::memset(array, value, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* array, int value, std::size_t bytes, cudaStream_t) {
  return cudaMemset(array, value, bytes);
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaSuccess ? "no error" : "the emulated GPU refuses this";
}
cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  if (attribute != cudaDevAttrMaxSharedMemoryPerBlockOptin) return cudaErrorInvalidValue;
  *value = static_cast<int>(kMostShared);
  return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaErrorInvalidValue;
  if (static_cast<std::size_t>(value) > kMostShared) return cudaErrorInvalidValue;
  allowed[kernel] = static_cast<std::size_t>(value);
  return cudaSuccess;
}
