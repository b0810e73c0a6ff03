// tests/emulated_gpu/block.h -- runs the threads of a block on one CPU thread, and says when a kernel counts on luck.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector_types.h>

#include <array>
#include <cstdint>
#include <functional>
#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>

namespace emulated_gpu {

/// What a GPU or its libraries need not do as it was meant: threads that wait for each other for ever or at different
/// barriers, memory that is used before it is taken, ranks that call different things.
struct Fault : std::logic_error {
  using std::logic_error::logic_error;
};

/// In what order blocks, a block's warps and a warp's lanes get their turn between barriers. A kernel's result depends
/// on it where it lacks one.
enum class Order { ascending, descending, shuffled };
/// That of $FORERUN_EMULATED_ORDER, else ascending. Throws Fault for another word.
Order order();
Order order_named(std::string_view name);

/// Calls `kernel` once for each thread of each block. A thread runs until it waits or ends; blocks follow one another.
/// Throws Fault, or what the kernel throws.
void run_grid(dim3 blocks, dim3 threads, const std::function<void()>& kernel, Order = order());

inline constexpr unsigned kWarp = 32;

/// Of the thread that runs: where it is...
struct Place {
  uint3 thread, block;
  dim3 threads, blocks;
  unsigned lane;
};
inline constinit thread_local Place here{};
bool in_a_kernel();
std::string who_runs();  // "thread 3, 0, 0 of block 1, 0, 0"

/// ... and what it waits for: all threads of its block that have not left; true of how many `vote` is, they all hear.
int wait_for_block(bool vote, std::source_location);
/// The lanes of `mask`, itself among them, which must ask the same of the same line. They all hear what each of them
/// says.
using Said = std::array<std::uint64_t, kWarp>;
const Said& wait_for_lanes(unsigned mask, std::uint64_t word, std::source_location);

}  // namespace emulated_gpu
