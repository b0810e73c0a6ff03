// SPDX-License-Identifier: Apache-2.0
#include "core/base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

TEST(ParallelFor, CallsEachIndexOnce) {
  for (const unsigned threads : {1u, 2u, 7u}) {
    std::vector<std::atomic<int>> calls(1000);
    base::parallel_for(
        calls.size(), [&](std::size_t i) { ++calls[i]; }, threads);
    for (std::size_t i = 0; i < calls.size(); ++i) ASSERT_EQ(calls[i], 1) << i << " on " << threads;
  }
}

TEST(ParallelFor, OfNothingCallsNothing) {
  base::parallel_for(0, [](std::size_t) { FAIL(); });
}

TEST(ParallelFor, UsesTheThreadsItIsGiven) {
  // Three indices that each wait for the two others can only end when three threads run them.
  std::atomic<int> arrived{0};
  std::mutex guard;
  std::set<std::thread::id> threads;
  base::parallel_for(
      3,
      [&](std::size_t) {
        ++arrived;
        while (arrived < 3) std::this_thread::yield();
        const std::lock_guard lock(guard);
        threads.insert(std::this_thread::get_id());
      },
      3);
  EXPECT_EQ(threads.size(), 3u);
}

TEST(ParallelFor, ThrowsOnWhatTheBodyThrew) {
  try {
    base::parallel_for(
        100, [](std::size_t i) { i == 17 ? throw std::runtime_error("at 17") : void(); }, 2);
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "at 17");
  }
}

TEST(ParallelFor, BeginsNothingAfterAThrowOnOneThread) {
  int calls = 0;
  EXPECT_THROW(base::parallel_for(
                   100, [&](std::size_t i) { i == 3 ? throw 1 : void(++calls); }, 1),
               int);
  EXPECT_EQ(calls, 3);  // 0, 1 and 2
}

}  // namespace
