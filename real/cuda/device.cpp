// SPDX-License-Identifier: Apache-2.0
#include "real/cuda/device.h"

#include <cuda_runtime.h>
#include <fmt/format.h>

#include "real/cuda/check.h"

namespace real {
namespace {

std::string version(int cuda) { return fmt::format("{}.{}", cuda / 1000, cuda % 1000 / 10); }

}  // namespace

std::string why_no_gpu(int status, int count, int driver, int runtime) {
  const std::string none = "no GPU can be used here: ";
  if (status == cudaErrorStubLibrary)
    return none + "the driver's library is the toolkit's stub; take its folder out of LD_LIBRARY_PATH";
  if (status == cudaErrorInsufficientDriver && driver > 0) {
    return none + fmt::format("the driver knows CUDA up to {} and this build needs {}; update the driver",
                              version(driver), version(runtime));
  }
  if (status == cudaErrorInsufficientDriver) return none + "no NVIDIA driver is loaded";
  if (status == cudaErrorNoDevice || count == 0) {
    return none + "the driver sees no card (is it hidden by CUDA_VISIBLE_DEVICES or not passed into this container?)";
  }
  return "";
}

int device_count() {
  int count = 0, driver = 0, runtime = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  if (const std::string why = why_no_gpu(status, count, driver, runtime); !why.empty()) throw NoGpu(why);
  check(status, "cudaGetDeviceCount");
  return count;
}

DeviceFacts facts(int device) {
  cudaDeviceProp found{};
  check(cudaGetDeviceProperties(&found, device), "cudaGetDeviceProperties");
  char bus[32] = {};
  check(cudaDeviceGetPCIBusId(bus, sizeof bus, device), "cudaDeviceGetPCIBusId");
  return {.index = device,
          .name = found.name,
          .uuid = std::string(found.uuid.bytes, sizeof found.uuid.bytes),
          .pci_bus_id = bus,
          .major = found.major,
          .minor = found.minor,
          .sms = found.multiProcessorCount,
          .memory = base::Bytes(static_cast<double>(found.totalGlobalMem))};
}

base::Bytes free_memory() {
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return base::Bytes(static_cast<double>(free));
}

CurrentDevice::CurrentDevice(int device) {
  check(cudaGetDevice(&before_), "cudaGetDevice");
  check(cudaSetDevice(device), "cudaSetDevice");
}

CurrentDevice::~CurrentDevice() { cudaSetDevice(before_); }

}  // namespace real
