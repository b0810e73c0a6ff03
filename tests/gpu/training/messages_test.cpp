// tests/gpu/training/messages_test.cpp -- messages of no elements between ranks: an expert that nobody chose has none
// to send. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "real/cuda/device.h"
#include "real/gpu/gpu_backend.h"
#include "tests/gpu/training/gpus.h"

namespace {

/// `body` on a thread for each of `ranks`, with a backend whose channel 0 joins them all; what they throw, a line each.
std::string on_ranks(int ranks, const std::function<void(real::GpuBackend&, const real::Group&)>& body) {
  const gpus::Turns turns(0, ranks);
  constexpr base::Seconds kWait = base::s(60);
  std::vector<real::World> worlds = real::in_process(ranks, {kWait, kWait, kWait});
  std::mutex guard;
  std::string faults;
  const auto run = [&](int rank) {
    real::World& world = worlds[static_cast<std::size_t>(rank)];
    try {
      const real::CurrentDevice current(rank);
      const real::Communicator everyone(world);
      real::Group group;
      group.self = rank;
      for (int i = 0; i < ranks; ++i) group.ranks.push_back(i);
      real::GpuBackend backend(world, rank, everyone, {{.color = 0, .key = rank, .ranks = group.ranks}});
      backend.connect();
      backend.begin(plan::Stream::ep, {});
      body(backend, group);
      backend.synchronize();
      world.store->leave(kWait);
    } catch (const std::exception& error) {
      world.store->abort(error.what());
      const std::lock_guard lock(guard);
      faults += error.what() + std::string("\n");
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < ranks; ++rank) threads.emplace_back(run, rank);
  }
  return faults;
}

// Of three ranks the first two exchange two numbers; the last one neither sends nor receives, and is not waited for.
TEST(Messages, OfNoElementsAreNone) {
  if (gpus::count() < 3) GTEST_SKIP() << "needs 3 GPUs";
  const std::string faults = on_ranks(3, [](real::GpuBackend& backend, const real::Group& group) {
    const int self = group.self;
    const std::int64_t count = self < 2 ? 2 : 0;
    std::vector<std::int64_t> counts(3);
    if (self < 2) counts[static_cast<std::size_t>(1 - self)] = 2;
    const std::vector<double> own(static_cast<std::size_t>(count), self + 1);
    const real::Tensor from = backend.upload(own), to = backend.allocate(count, real::kNumbers);
    backend.all_to_all(group, counts, from, counts, to);
    if (self < 2) {
      EXPECT_EQ(backend.download(to), std::vector<double>(2, 2 - self));
    }
  });
  EXPECT_EQ(faults, "");
}

// A rank that has nothing for anybody beside two that have nothing for it.
TEST(Messages, OfNoElementsBetweenTwoAreNoneBesideOthers) {
  if (gpus::count() < 2) GTEST_SKIP() << "needs 2 GPUs";
  const std::string faults = on_ranks(2, [](real::GpuBackend& backend, const real::Group& group) {
    const bool keeps = group.self == 0;  // sends itself 3 numbers
    const std::vector<std::int64_t> counts{keeps ? 3 : 0, 0};
    const real::Tensor from = backend.upload(std::vector<double>(keeps ? 3 : 0, 7));
    const real::Tensor to = backend.allocate(keeps ? 3 : 0, real::kNumbers);
    backend.all_to_all(group, counts, from, counts, to);
    if (keeps) {
      EXPECT_EQ(backend.download(to), std::vector<double>(3, 7));
    }
    const real::Tensor none = backend.allocate(0, real::kNumbers);
    backend.shift(group, none, none);
    if (keeps) backend.send(1, 0, none);  // nobody receives
  });
  EXPECT_EQ(faults, "");
}

}  // namespace
