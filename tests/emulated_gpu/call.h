// tests/emulated_gpu/call.h -- how a function of CUDA answers here. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <driver_types.h>

#include <exception>
#include <type_traits>

#include "tests/emulated_gpu/device.h"

namespace emulated_gpu {

/// While a function of cudaLaunchHostFunc() runs, which may call nothing of CUDA.
inline thread_local bool in_host_function = false;

/// What cudaGetLastError() tells.
inline thread_local cudaError_t last_error = cudaSuccess;

/// A GPU that has failed answers nothing else until the program ends; `body` returns a cudaError_t or nothing.
template <class Body>
cudaError_t call(Body body) {
  Device& device = Device::current();
  try {
    if (in_host_function) device.fail("a function that runs on the host calls CUDA");
    if (device.failure().empty()) {
      if constexpr (std::is_void_v<decltype(body())>) {
        body();
      } else if (const cudaError_t status = body(); status != cudaSuccess) {
        return last_error = status;
      }
    }
  } catch (const std::exception& error) {
    device.fail(error.what());
  }
  return device.failure().empty() ? cudaSuccess : last_error = cudaErrorLaunchFailure;
}

inline cudaStream_t stream_of(cudaStream_t stream) { return stream ? stream : Device::current().default_stream(); }

}  // namespace emulated_gpu
