// tests/emulated_gpu/recycler_test.cpp -- tests real/gpu/recycler.h and what real/cuda/pool.h waits for when it is
// full, on a GPU that does nothing before it is asked. SPDX-License-Identifier: Apache-2.0
#include "real/gpu/recycler.h"

#include <gtest/gtest.h>

#include "real/cuda/device.h"
#include "tests/emulated_gpu/device.h"

namespace {

using emulated_gpu::Device;
using plan::Category;
using real::DeviceBuffer;
using enum plan::Stream;

constexpr std::int64_t kBytes = 1 << 20;

class Recycling : public testing::Test {
 protected:
  Recycling() { emulated_gpu::set_schedule(0); }  // lazy: what the streams are given stays in their queues
  ~Recycling() override {
    Device::current().finish();
    recycler_.clear();
    emulated_gpu::set_schedule(std::nullopt);
    Device::at(0).set_memory(std::size_t{80} << 30);
  }

  const real::Stream& stream(plan::Stream s) const { return streams_[static_cast<std::size_t>(s)]; }
  /// Of compute, with work that `user` does on it, and that nobody has waited for.
  void put_used_by(plan::Stream user) {
    DeviceBuffer buffer = pool_.take(Category::communication, kBytes, stream(compute));
    real::Uses uses;
    uses.add(user, board_.next(user));
    cudaLaunchHostFunc(
        stream(user).get(), [](void*) {}, nullptr);
    recycler_.put(std::move(buffer), compute, uses);
  }
  void compute_waits_for(plan::Stream user) {
    board_.record(plan::event_of(user), user);
    board_.wait(compute, plan::event_of(user));
  }
  std::int64_t taken() { return pool_.ledger().now()[static_cast<std::size_t>(Category::communication)]; }

  const real::CurrentDevice current_{0};
  real::Pool pool_{0};
  real::Streams streams_;
  real::EventBoard board_;
  real::Recycler recycler_{streams_, board_};
};

TEST_F(Recycling, MemoryStaysWhileAnotherStreamMayUseIt) {
  put_used_by(gather);
  recycler_.poll();
  EXPECT_EQ(taken(), kBytes);
  Device::current().finish();
  recycler_.poll();
  EXPECT_EQ(taken(), 0);
}

// The device has done nothing yet: in the order of compute the memory is free all the same.
TEST_F(Recycling, MemoryGoesOnceItsOwnStreamIsBehindAllUses) {
  put_used_by(gather);
  compute_waits_for(gather);
  recycler_.poll();
  EXPECT_EQ(taken(), 0);
}

TEST_F(Recycling, MemoryOfWhichItsStreamIsBehindAlreadyGoesAtOnce) {
  DeviceBuffer buffer = pool_.take(Category::communication, kBytes, stream(compute));
  real::Uses uses;
  uses.add(gather, board_.next(gather));
  compute_waits_for(gather);
  recycler_.put(std::move(buffer), compute, uses);
  EXPECT_EQ(taken(), 0);
}

TEST_F(Recycling, OneUserOfTwoIsNotEnough) {
  DeviceBuffer buffer = pool_.take(Category::communication, kBytes, stream(compute));
  real::Uses uses;
  uses.add(gather, board_.next(gather));
  uses.add(dp, board_.next(dp));
  cudaLaunchHostFunc(
      stream(dp).get(), [](void*) {}, nullptr);
  recycler_.put(std::move(buffer), compute, uses);
  compute_waits_for(gather);
  recycler_.poll();
  EXPECT_EQ(taken(), kBytes);
  compute_waits_for(dp);
  recycler_.poll();
  EXPECT_EQ(taken(), 0);
}

TEST_F(Recycling, TheOldestOfAllLinesIsWaitedForFirst) {
  put_used_by(gather);
  put_used_by(dp);
  put_used_by(gather);
  std::vector<int> asked;
  const auto until = [&](const real::Event& event) {
    asked.push_back(cudaEventQuery(event.get()) == cudaSuccess);
    event.synchronize();
  };
  for (std::int64_t left : {2, 1, 0}) {
    EXPECT_TRUE(recycler_.wait_for_oldest(until));
    EXPECT_EQ(taken(), left * kBytes);
  }
  EXPECT_EQ(asked.size(), 3u);
  EXPECT_FALSE(recycler_.wait_for_oldest(until));
}

// Room for two: the third waits for the first, the fourth for the second; what nobody gives back is still refused.
TEST_F(Recycling, AFullPoolWaitsForWhatIsOnItsWayBack) {
  Device::at(0).set_memory(2 * kBytes);
  int waits_for_all = 0;
  pool_.when_full({[&] { return recycler_.wait_for_oldest([](const real::Event& event) { event.synchronize(); }); },
                   [&] { ++waits_for_all; }});
  for (int i = 0; i < 4; ++i) put_used_by(gather);
  EXPECT_EQ(waits_for_all, 0);
  EXPECT_EQ(taken(), 2 * kBytes);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);  // or the next kernel would be told to have failed
  Device::current().finish();
  recycler_.poll();
  const DeviceBuffer one = pool_.take(Category::communication, kBytes, stream(compute));
  const DeviceBuffer two = pool_.take(Category::communication, kBytes, stream(compute));
  EXPECT_THROW(pool_.take(Category::communication, kBytes, stream(compute)), base::DeviceError);
  EXPECT_EQ(waits_for_all, 1);
}

}  // namespace
