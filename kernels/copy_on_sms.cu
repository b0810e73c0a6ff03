// kernels/copy_on_sms.cu -- see copy_on_sms.h.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/copy_on_sms.h"
#include "kernels/device.cuh"

namespace kernels::gpu {
namespace {

constexpr int kThreads = 512, kInFlight = 4;

/// Streams past the caches, four loads in flight a thread.
__global__ void __launch_bounds__(kThreads, 1) copy(const int4* from, int4* to, std::int64_t count, int times) {
  for (int round = 0; round < times; ++round) {
    std::int64_t i = grid_index();
    for (; i + (kInFlight - 1) * grid_stride() < count; i += kInFlight * grid_stride()) {
      int4 held[kInFlight];
      for (int j = 0; j < kInFlight; ++j) held[j] = __ldcs(from + i + j * grid_stride());
      for (int j = 0; j < kInFlight; ++j) __stcs(to + i + j * grid_stride(), held[j]);
    }
    for (; i < count; i += grid_stride()) __stcs(to + i, __ldcs(from + i));
  }
}

/// The most shared memory that a block of the current device may ask for.
int whole_shared_memory() {
  int device = 0, bytes = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  return bytes;
}

}  // namespace

void copy_on_sms(int sms, const void* from, void* to, std::size_t bytes, int times, Stream stream) {
  const int shared = whole_shared_memory();
  cudaFuncSetAttribute(copy, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
  launch(copy, {static_cast<unsigned>(sms), kThreads, static_cast<std::size_t>(shared)}, stream, as<int4>(from),
         as<int4>(to), static_cast<std::int64_t>(bytes / 16), times);
  check_launch("copy on SMs");
}

}  // namespace kernels::gpu
