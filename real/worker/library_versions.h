// real/worker/library_versions.h -- what computes: the versions of the libraries that were found.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace worker {

/// "CUDA 13.0, cuBLASLt 130100, cuDNN 91900, NCCL 22809": by each library's own way of counting.
std::string library_versions();

}  // namespace worker
