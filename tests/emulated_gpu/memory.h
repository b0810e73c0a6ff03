// tests/emulated_gpu/memory.h -- memory of the GPUs and page-locked memory of the host: each array ends where a page
// begins that nobody may touch, and no address is ever handed out twice. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace emulated_gpu {

inline constexpr int kHost = -1;  // in the place of a GPU's number

/// An array of `bytes`, filled with ones (NaN as a float of any kind; above 16 MiB with zeros). Its address is a
/// multiple of 16, as the arrays that real mode cuts out of larger ones may be, not of 256; what reads or writes behind
/// its last 16 bytes ends the program with a message that says who did.
void* allocate(std::size_t bytes, int gpu = 0);

/// Throws Fault for an address that allocate() did not give or that was given back, and where something was written
/// before the array or between its end and the page's.
void release(void* array);

/// An array that a stream takes and gives back: its address is known at once, and nobody may touch it before open() and
/// after close(). A graph's is opened in each of its runs.
void* reserve(std::size_t bytes, int gpu);
void open(void* array);
void close(void* array);
bool is_open(void* array);

/// Throws Fault, which begins with `what`, unless the bytes lie in one array of the GPU, or of kHost, that is open.
void expect_within(const void* from, std::size_t bytes, int gpu, const char* what);
bool is_page_locked(const void* address);

/// Bytes in arrays that are open.
std::size_t bytes_allocated();

}  // namespace emulated_gpu
