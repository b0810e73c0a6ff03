// core/base/parallel.h -- the same work for many indices, on all cores.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>

namespace base {

/// Calls body(i) once for each i below `count`, on `threads` threads (0: one for each core this process may use), in no
/// particular order, and returns when all have ended. `body` may run at the same time for different indices. When one
/// throws, no further index is begun, and the exception of the lowest index that threw is thrown on.
void parallel_for(std::size_t count, const std::function<void(std::size_t)>& body, unsigned threads = 0);

}  // namespace base
