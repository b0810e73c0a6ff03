// tests/gpu/main.cpp -- runs the GPU's tests where there is a GPU; elsewhere says so and exits with 77, CTest's
// "skipped". SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstdio>

namespace {

constexpr int kSkipped = 77;

/// Why no kernel can run here; null where one can. Without a driver the runtime answers "insufficient driver", with the
/// toolkit's stub of one "stub library".
const char* no_gpu() {
  int count = 0;
  switch (const cudaError_t error = cudaGetDeviceCount(&count)) {
    case cudaSuccess: return count == 0 ? "no device is visible" : nullptr;
    case cudaErrorInsufficientDriver:
    case cudaErrorStubLibrary:
    case cudaErrorNoDevice: return cudaGetErrorString(error);
    default: return nullptr;  // a GPU that does not work is a failure, which the first test shows
  }
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (const char* reason = no_gpu()) {
    std::printf("skipped: there is no GPU here (%s)\n", reason);
    return kSkipped;
  }
  return RUN_ALL_TESTS();
}
