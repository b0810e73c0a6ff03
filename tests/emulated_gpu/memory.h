// tests/emulated_gpu/memory.h -- memory of the GPU: each array ends where a page that nobody may touch begins.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace emulated_gpu {

/// An array of `bytes`, filled with ones (NaN as a float of any kind). Its address is a multiple of 16, as the arrays
/// that real mode cuts out of larger ones may be, not of 256; what reads or writes behind its last 16 bytes ends the
/// program with a message that says which thread of which block did.
void* allocate(std::size_t bytes);

/// Throws Fault for an address that allocate() did not give or that was given back, and where something was written
/// before the array or between its end and the page's.
void release(void* array);

/// Bytes in arrays that were not given back.
std::size_t bytes_allocated();

}  // namespace emulated_gpu
