// kernels/launch.cuh -- starts a kernel on a stream: the one place that does, so that the tests can start the same
// kernels on a CPU (tests/emulated_gpu has a file of this name). SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <type_traits>

#include "kernels/types.h"

namespace kernels::gpu {

/// Blocks of a grid whose threads stride over what there is to do. They rarely have to: memory is read and written a
/// few percent faster by a new block than by an old one that goes on elsewhere (2.98 against 2.87 TB/s of AdamW on an
/// H100).
inline constexpr unsigned kMostBlocks = 1u << 20;
/// Where each of them adds to one number or fills a table first: enough to fill any GPU a few times.
inline constexpr unsigned kFewBlocks = 16384;

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
