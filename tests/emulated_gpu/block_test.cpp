// tests/emulated_gpu/block_test.cpp -- that the emulated GPU runs what a GPU runs, and stops what one may not.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "tests/emulated_gpu/device_code.h"
#include "tests/emulated_gpu/memory.h"

namespace emulated_gpu {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Block, RunsEachThreadOfEachBlockOnce) {
  for (Order order : {Order::ascending, Order::descending, Order::shuffled}) {
    std::vector<int> runs(3 * 2 * 40 * 5);
    run_grid(
        dim3(3, 2), dim3(40, 5),
        [&] {
          const unsigned block = blockIdx.y * gridDim.x + blockIdx.x, thread = threadIdx.y * blockDim.x + threadIdx.x;
          ++runs[block * 200 + thread];
        },
        order);
    EXPECT_EQ(runs, std::vector<int>(1200, 1));
  }
}

// Each thread reads what its neighbour has written: with a barrier in every order the same, without one it is not.
TEST(Block, OrderTellsWhereABarrierIsMissing) {
  for (Order order : {Order::ascending, Order::descending, Order::shuffled}) {
    for (bool barrier : {true, false}) {
      std::vector<unsigned> at(256), seen(256);
      run_grid(
          dim3(1), dim3(256),
          [&] {
            at[threadIdx.x] = threadIdx.x + 1;
            if (barrier) __syncthreads();
            seen[threadIdx.x] = at[(threadIdx.x + 1) % 256];
          },
          order);
      std::vector<unsigned> expected(256);
      std::iota(expected.begin(), expected.end(), 2u);
      expected.back() = 1;
      EXPECT_EQ(seen == expected, barrier);
    }
  }
}

// A warp may be a step ahead of another: what all have read may be written again after a barrier only.
TEST(Block, OrderTellsWhereWhatIsReadIsWrittenTooSoon) {
  for (Order order : {Order::ascending, Order::descending, Order::shuffled}) {
    for (bool barrier : {true, false}) {
      unsigned word = 0;
      std::vector<unsigned> seen(256);
      run_grid(
          dim3(1), dim3(256),
          [&] {
            for (unsigned step = 1; step <= 2; ++step) {
              if (threadIdx.x == 32 * step) word = step;
              __syncthreads();
              seen[threadIdx.x] += word;
              if (barrier) __syncthreads();
            }
          },
          order);
      EXPECT_EQ(seen == std::vector<unsigned>(256, 1 + 2), barrier);
    }
  }
}

// Lane l of 32 gets the value of lane l ^ 5; every third lane votes.
TEST(Block, LanesHearEachOther) {
  std::vector<float> got(64);
  std::vector<unsigned> votes(64);
  run_grid(dim3(1), dim3(64), [&] {
    got[threadIdx.x] = __shfl_xor_sync(0xffffffffu, 0.5f * static_cast<float>(threadIdx.x), 5);
    votes[threadIdx.x] = __ballot_sync(0xffffffffu, threadIdx.x % 32 % 3 == 0);
  });
  for (unsigned i = 0; i < 64; ++i) {
    EXPECT_EQ(got[i], 0.5f * static_cast<float>(i ^ 5));
    EXPECT_EQ(votes[i], 0b01001001001001001001001001001001u);
  }
}

TEST(Block, CountsVotesOfThreadsThatHaveNotLeft) {
  std::vector<int> count(64, -1);
  run_grid(dim3(1), dim3(64), [&] {
    if (threadIdx.x >= 50) return;
    count[threadIdx.x] = __syncthreads_count(threadIdx.x % 2);
  });
  for (int i = 0; i < 64; ++i) EXPECT_EQ(count[i], i < 50 ? 25 : -1);
}

TEST(Block, FaultsAreNamed) {
  const auto run = [](unsigned threads, auto kernel) { return [=] { run_grid(dim3(1), dim3(threads), kernel); }; };
  const auto two_barriers = [] {  // not in a macro, all of which is one line
    if (threadIdx.x < 32) {
      __syncthreads();
    } else {
      __syncthreads();
    }
  };
  EXPECT_THAT(run(64, two_barriers), ThrowsMessage<Fault>(HasSubstr("different barriers: from thread 0 on at ")));
  EXPECT_THAT(run(32,
                  [] {
                    if (threadIdx.x < 16) __syncwarp();
                  }),
              ThrowsMessage<Fault>(HasSubstr("wait")));
  EXPECT_THAT(run(64, [] { threadIdx.x == 0 ? __syncwarp() : __syncthreads(); }),
              ThrowsMessage<Fault>(HasSubstr("wait for ever: from thread 0 on at ")));
  EXPECT_THAT(run(32, [] { __syncwarp(1u); }), ThrowsMessage<Fault>(HasSubstr("a mask that it is not in")));
  EXPECT_THAT(run(16, [] { __syncwarp(); }), ThrowsMessage<Fault>(HasSubstr("a lane that has left")));
  EXPECT_THAT(run(1025, [] {}), ThrowsMessage<Fault>(HasSubstr("a block of 1025 threads")));
  EXPECT_THAT([] { run_grid(dim3(1, 65536), dim3(1), [] {}); }, ThrowsMessage<Fault>(HasSubstr("1 x 65536 x 1")));
  EXPECT_THAT([] { order_named("up"); }, ThrowsMessage<Fault>(HasSubstr("ascending, descending or shuffled")));
}

TEST(Memory, HoldsOnesUntilItIsWritten) {
  const std::size_t before = bytes_allocated();
  auto* array = static_cast<unsigned char*>(allocate(5));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(array) % 16, 0u);
  EXPECT_EQ(std::vector<int>(array, array + 5), std::vector<int>(5, 0xff));
  EXPECT_EQ(bytes_allocated(), before + 5);
  release(array);
  EXPECT_EQ(bytes_allocated(), before);
  EXPECT_THROW(release(array), Fault);
}

TEST(Memory, WritesBesideAnArrayShowWhenItIsFreed) {
  auto* array = static_cast<char*>(allocate(5));  // up to the next 16 bytes nothing stops a write
  array[5] = 0;
  EXPECT_THAT([=] { release(array); }, ThrowsMessage<Fault>(HasSubstr("behind an array of 5 bytes")));
  array = static_cast<char*>(allocate(5));
  array[-1] = 0;
  EXPECT_THAT([=] { release(array); }, ThrowsMessage<Fault>(HasSubstr("before an array of 5 bytes")));
}

using MemoryDeathTest = testing::Test;

TEST(MemoryDeathTest, AThreadThatReadsBehindAnArrayIsNamed) {
  auto* array = static_cast<float*>(allocate(4 * 128));
  EXPECT_DEATH(run_grid(dim3(2), dim3(70),
                        [=] {
                          const volatile float* at = array + blockIdx.x * 64 + threadIdx.x;
                          (void)*at;
                        }),
               "512 bytes from the begin of an array of 512, by thread 64, 0, 0 of block 1, 0, 0");
  release(array);
}

}  // namespace
}  // namespace emulated_gpu
