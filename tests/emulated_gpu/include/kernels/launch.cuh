// tests/emulated_gpu/include/kernels/launch.cuh -- stands in for kernels/launch.cuh: what it starts runs on the CPU.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <source_location>
#include <type_traits>

#include "kernels/types.h"
#include "tests/emulated_gpu/runtime.h"

namespace kernels::gpu {

/// So few that a block of most tests comes round again, as one of a GPU does among millions of rows.
inline constexpr unsigned kMostBlocks = 3, kFewBlocks = 3;

struct Grid {
  dim3 blocks, threads;
  std::size_t shared_bytes = 0;
  std::source_location from = std::source_location::current();
};

template <class... Parameters>
void launch(void (*kernel)(Parameters...), const Grid& grid, Stream stream,
            std::type_identity_t<Parameters>... arguments) {
  emulated_gpu::launch(reinterpret_cast<const void*>(kernel), grid.blocks, grid.threads, grid.shared_bytes, stream,
                       grid.from, [=] { kernel(arguments...); });
}

}  // namespace kernels::gpu
