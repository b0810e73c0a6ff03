// tests/emulated_gpu/runtime.cpp -- CUDA's runtime API: devices, memory, kernels. Defines what real mode and the tests
// call, in place of the toolkit's library; what is missing does not link. SPDX-License-Identifier: Apache-2.0
#include "tests/emulated_gpu/runtime.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "tests/emulated_gpu/block.h"
#include "tests/emulated_gpu/call.h"
#include "tests/emulated_gpu/memory.h"

namespace emulated_gpu {
namespace {

// Of an H100 (CUDA programming guide, table of technical specifications): what a block may have unasked and at most.
constexpr std::size_t kShared = 48 << 10, kMostShared = 227 << 10;
constexpr int kSms = 132;

/// What kernels were allowed beyond kShared, by their address.
std::mutex guard;
std::map<const void*, std::size_t> allowed;

bool may_have(const void* kernel, std::size_t shared_bytes) {
  const std::lock_guard lock(guard);
  const auto found = allowed.find(kernel);
  return shared_bytes <= (found == allowed.end() ? kShared : found->second);
}

}  // namespace

int capability() {
  const char* text = std::getenv("FORERUN_EMULATED_CAPABILITY");
  return text ? std::atoi(text) : 90;
}

void launch(const void* kernel, dim3 blocks, dim3 threads, std::size_t shared_bytes, CUstream_st* stream,
            std::source_location from, const std::function<void()>& body) {
  call([&] {
    if (!may_have(kernel, shared_bytes)) return cudaErrorInvalidValue;
    Device::current().give(stream_of(stream), once(fmt::format("the kernel of {}:{}", from.file_name(), from.line()),
                                                   [=] { run_grid(blocks, threads, body); }));
    return cudaSuccess;
  });
}

}  // namespace emulated_gpu

using namespace emulated_gpu;

cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess: return "no error";
    case cudaErrorNotReady: return "not ready";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorLaunchFailure: return Device::current().failure().c_str();
    case cudaErrorStreamCaptureUnjoined: return "a captured stream was not joined";
    default: return "the emulated GPU refuses this";
  }
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = kDevices;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = Device::current().index();
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= kDevices) return cudaErrorInvalidDevice;
  Device::make_current(device);
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  switch (attribute) {
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = static_cast<int>(kMostShared); return cudaSuccess;
    case cudaDevAttrComputeCapabilityMajor: *value = capability() / 10; return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor: *value = capability() % 10; return cudaSuccess;
    case cudaDevAttrMultiProcessorCount: *value = kSms; return cudaSuccess;
    default: return last_error = cudaErrorInvalidValue;
  }
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  *properties = {};
  const char* name = std::getenv("FORERUN_EMULATED_NAME");
  std::snprintf(properties->name, sizeof properties->name, "%s", name ? name : "emulated GPU");
  properties->uuid.bytes[0] = static_cast<char>(device + 1);
  properties->major = capability() / 10;
  properties->minor = capability() % 10;
  properties->multiProcessorCount = kSms;
  properties->totalGlobalMem = Device::at(device).memory();
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* text, int bytes, int device) {
  std::strncpy(text, fmt::format("0000:{:02X}:00.0", device).c_str(), static_cast<std::size_t>(bytes));
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) { return cudaDriverGetVersion(version); }
cudaError_t cudaDeviceSynchronize() {
  return call([] { Device::current().finish(); });
}
cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return last_error = cudaErrorInvalidValue;
  if (static_cast<std::size_t>(value) > kMostShared) return last_error = cudaErrorInvalidValue;
  const std::lock_guard lock(guard);
  allowed[kernel] = static_cast<std::size_t>(value);
  return cudaSuccess;
}

// Memory that is taken and given back by the host, which waits for the GPU before it is.

namespace {

std::mutex taken_guard;
std::map<void*, std::size_t> taken;

}  // namespace

cudaError_t cudaMalloc(void** array, std::size_t bytes) {
  return call([&] {
    Device& device = Device::current();
    if (!device.take(bytes)) return cudaErrorMemoryAllocation;
    *array = allocate(bytes, device.index());
    const std::lock_guard lock(taken_guard);
    taken[*array] = bytes;
    return cudaSuccess;
  });
}
cudaError_t cudaFree(void* array) {
  if (!array) return cudaSuccess;
  return call([&] {
    Device::current().finish();
    release(array);
    const std::lock_guard lock(taken_guard);
    Device::current().give_back(taken.extract(array).mapped());
  });
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *total = Device::current().memory();
  *free = *total - Device::current().taken();
  return cudaSuccess;
}
cudaError_t cudaMallocHost(void** array, std::size_t bytes) {
  return call([&] { *array = allocate(bytes, kHost); });
}
cudaError_t cudaFreeHost(void* array) {
  if (!array) return cudaSuccess;
  return call([&] { release(array); });
}

// Copies.

namespace {

struct Copy {
  void* to;
  const void* from;
  std::size_t bytes;
  int source, target;  // GPU or kHost

  Copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind)
      : to(to), from(from), bytes(bytes), source(Device::current().index()), target(source) {
    if (kind == cudaMemcpyHostToDevice) {
      source = kHost;
    } else if (kind == cudaMemcpyDeviceToHost) {
      target = kHost;
    } else if (kind != cudaMemcpyDeviceToDevice) {
      throw Fault("a copy of a kind that is not emulated");
    }
  }
  bool from_pageable() const { return source == kHost && !is_page_locked(from); }
  bool to_pageable() const { return target == kHost && !is_page_locked(to); }

  Make work() const {
    const auto move = [*this] {
      if (!from_pageable()) expect_within(from, bytes, source, "the source of a copy");
      if (!to_pageable()) expect_within(to, bytes, target, "the target of a copy");
      std::memmove(to, from, bytes);
    };
    return once(fmt::format("a copy of {} bytes", bytes), move, Activity::copy);
  }
};

}  // namespace

cudaError_t cudaMemset(void* array, int value, std::size_t bytes) {
  return call([&] { std::memset(array, value, bytes); });
}
cudaError_t cudaMemsetAsync(void* array, int value, std::size_t bytes, cudaStream_t stream) {
  return call([&] {
    const int self = Device::current().index();
    const auto fill = [=] {
      expect_within(array, bytes, self, "what is set");
      std::memset(array, value, bytes);
    };
    Device::current().give(stream_of(stream), once(fmt::format("{} bytes that are set", bytes), fill, Activity::fill));
  });
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  return call([&] {
    Device& device = Device::current();
    device.finish(device.default_stream());  // the others do not wait for it, nor it for them
    std::memcpy(to, from, bytes);
  });
}
/// What the host has must be page-locked, or the call does not come back before the copy is done: where ranks train
/// that is a fault, unless $FORERUN_EMULATED_PAGEABLE is set.
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return call([&] {
    Device& device = Device::current();
    const Copy copy(to, from, bytes, kind);
    const bool waits = copy.from_pageable() || copy.to_pageable();
    if (waits && std::getenv("FORERUN_EMULATED_PAGEABLE") == nullptr) {
      throw Fault(fmt::format("a copy {} pageable memory of the host", copy.to_pageable() ? "to" : "from"));
    }
    device.give(stream_of(stream), copy.work());
    if (waits) device.finish(stream_of(stream));
  });
}
