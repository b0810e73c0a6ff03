// core/base/heap.h -- a setting of the process's heap for programs that predict many times over.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace base {

/// Keeps freed memory in the process. A prediction's spans are some megabytes, made and let go again for every row of a
/// comparison or validation: so their pages are touched once, not once a prediction. For main() to call; glibc only.
inline void keep_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
}

}  // namespace base
