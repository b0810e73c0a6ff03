// real/cuda/check.h -- what CUDA returns, as an exception.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

namespace real {

/// Throws base::DeviceError "cudaMalloc: out of memory" unless `status` is success. `call` names what was called.
void check(cudaError_t status, const char* call);

}  // namespace real
