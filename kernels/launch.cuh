// kernels/launch.cuh -- starts a kernel on a stream: the one place that does, so that the tests can start the same
// kernels on a CPU (tests/emulated_gpu has a file of this name). SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <type_traits>

#include "kernels/types.h"

namespace kernels::gpu {

/// Blocks of a grid whose threads stride over what there is to do: enough to fill any GPU a few times.
inline constexpr unsigned kMostBlocks = 16384;

struct Grid {
  dim3 blocks, threads;
  std::size_t shared_bytes = 0;  // of a block, beside what the kernel declares
};

/// The kernel's parameters are what decides types: arguments convert as those of a call do.
template <class... Parameters>
void launch(void (*kernel)(Parameters...), const Grid& grid, Stream stream,
            std::type_identity_t<Parameters>... arguments) {
  kernel<<<grid.blocks, grid.threads, grid.shared_bytes, stream>>>(arguments...);
}

}  // namespace kernels::gpu
