// tests/emulated_gpu/runtime.h -- what stands behind CUDA's runtime API here. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector_types.h>

#include <cstddef>
#include <functional>
#include <source_location>

struct CUstream_st;

namespace emulated_gpu {

/// Has the stream run `body`, of the kernel at that address, for each thread. A launch that a GPU refuses shows at
/// cudaGetLastError(), as it does there.
void launch(const void* kernel, dim3 blocks, dim3 threads, std::size_t shared_bytes, CUstream_st* stream,
            std::source_location from, const std::function<void()>& body);

/// Ten times major, and minor: $FORERUN_EMULATED_CAPABILITY, else 90, Hopper's.
int capability();

}  // namespace emulated_gpu
