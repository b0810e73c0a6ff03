// SPDX-License-Identifier: Apache-2.0
#include "real/cuda/check.h"

#include <string>

#include "core/base/fault.h"

namespace real {

void check(cudaError_t status, const char* call) {
  if (status != cudaSuccess) throw base::DeviceError(std::string(call) + ": " + cudaGetErrorString(status));
}

}  // namespace real
