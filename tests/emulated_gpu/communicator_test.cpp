// tests/emulated_gpu/communicator_test.cpp -- tests real/cuda/communicator.h: a call of NCCL that waits for another
// rank is told to the watchdog by its name. SPDX-License-Identifier: Apache-2.0
#include "real/cuda/communicator.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "real/cuda/device.h"
#include "real/cuda/stream.h"
#include "tests/emulated_gpu/device.h"

namespace {

using real::Communicator;
using real::World;

/// Two ranks.
struct Pair {
  std::vector<World> worlds = real::in_process(2);

  /// What rank 0's watchdog would say, once it would.
  std::string overdue() const {
    for (int i = 0; i < 10'000; ++i) {
      if (const char* const call = worlds[0].call->overdue()) return call;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return "nothing";
  }
};

/// `body` on a thread for each rank, with the communicator of both.
void on_two_ranks(Pair& pair, const std::function<void(World&, Communicator)>& body) {
  emulated_gpu::set_schedule(1);
  const auto run = [&](int rank) {
    World& world = pair.worlds[static_cast<std::size_t>(rank)];
    const real::CurrentDevice current(rank);
    Communicator both(world);
    world.patience = {base::s(-1), base::s(-1), base::s(-1)};
    body(world, std::move(both));
    emulated_gpu::Device::current().reset();
  };
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < 2; ++rank) threads.emplace_back(run, rank);
  }
  emulated_gpu::set_schedule(std::nullopt);
}

// Each split has its own limit: between two of them nothing is overdue.
TEST(Communicator, ASplitThatWaitsForARankIsNamed) {
  Pair pair;
  on_two_ranks(pair, [&](World& world, Communicator both) {
    std::vector<std::optional<Communicator>> parts;
    for (int i = 0; i < 2; ++i) {
      if (world.identity.rank == 1) {
        EXPECT_EQ(pair.overdue(), "ncclCommSplit");
      }
      parts.push_back(both.split(0, world.identity.rank));
      EXPECT_EQ(world.call->overdue(), nullptr);
      EXPECT_EQ(parts.back()->size(), 2);
    }
  });
}

TEST(Communicator, OneThatIsFreedWhileItWaitsForARankIsNamed) {
  Pair pair;
  on_two_ranks(pair, [&](World& world, Communicator both) {
    const real::Stream stream;
    if (world.identity.rank == 1) {
      EXPECT_EQ(pair.overdue(), "ncclCommDestroy");
    }
    float* one = nullptr;
    real::check(cudaMalloc(reinterpret_cast<void**>(&one), sizeof(float)), "cudaMalloc");
    real::check(ncclAllReduce(one, one, 1, ncclFloat, ncclSum, both.get(), stream.get()), "ncclAllReduce");
    { const Communicator freed = std::move(both); }
    EXPECT_EQ(world.call->overdue(), nullptr);
    real::check(cudaFree(one), "cudaFree");
  });
}

}  // namespace
