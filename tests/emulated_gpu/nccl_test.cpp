// tests/emulated_gpu/nccl_test.cpp -- that the emulated NCCL adds up what NCCL does, and tells where ranks do not fit
// together. SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nccl.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "tests/emulated_gpu/device.h"

namespace emulated_gpu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A rank with an array of floats on its GPU.
struct Rank {
  int rank;
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
  float *in = nullptr, *out = nullptr;  // of `size`
  static constexpr std::size_t kSize = 8;

  std::vector<float> result(std::size_t count) const {
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess) << Device::current().failure();
    std::vector<float> values(count);
    cudaMemcpy(values.data(), out, count * sizeof(float), cudaMemcpyDeviceToHost);
    return values;
  }
};

/// `body` on a thread for each rank, whose numbers are 1, 2, ... of rank 0, 11, 12, ... of rank 1 and so on; what the
/// GPUs failed with.
std::vector<std::string> on_ranks(int ranks, const std::function<void(Rank&)>& body) {
  ncclUniqueId id;
  ncclGetUniqueId(&id);
  std::vector<std::string> failures(static_cast<std::size_t>(ranks));
  set_schedule(1);
  const auto run = [&](int rank) {
    cudaSetDevice(rank);
    Rank r{rank};
    EXPECT_EQ(ncclCommInitRank(&r.comm, ranks, id, rank), ncclSuccess);
    cudaStreamCreateWithPriority(&r.stream, cudaStreamNonBlocking, 0);
    cudaMalloc(reinterpret_cast<void**>(&r.in), Rank::kSize * sizeof(float));
    cudaMalloc(reinterpret_cast<void**>(&r.out), Rank::kSize * sizeof(float));
    std::vector<float> values;
    for (std::size_t i = 0; i < Rank::kSize; ++i)
      values.push_back(static_cast<float>(10 * rank) + static_cast<float>(i + 1));
    cudaMemcpy(r.in, values.data(), Rank::kSize * sizeof(float), cudaMemcpyHostToDevice);
    body(r);
    cudaDeviceSynchronize();
    failures[static_cast<std::size_t>(rank)] = Device::current().failure();
    ncclCommAbort(r.comm);
    Device::current().reset();
  };
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < ranks; ++rank) threads.emplace_back(run, rank);
  }
  set_schedule(std::nullopt);
  return failures;
}

TEST(Nccl, AddsUpGathersAndScatters) {
  const auto failures = on_ranks(3, [](Rank& r) {
    ncclAllReduce(r.in, r.out, 2, ncclFloat, ncclSum, r.comm, r.stream);
    EXPECT_THAT(r.result(2), ElementsAre(1 + 11 + 21, 2 + 12 + 22));
    ncclAllReduce(r.in, r.out, 2, ncclFloat, ncclMax, r.comm, r.stream);
    EXPECT_THAT(r.result(2), ElementsAre(21, 22));
    ncclAllGather(r.in, r.out, 2, ncclFloat, r.comm, r.stream);
    EXPECT_THAT(r.result(6), ElementsAre(1, 2, 11, 12, 21, 22));
    ncclReduceScatter(r.in, r.out, 2, ncclFloat, ncclSum, r.comm, r.stream);
    const float first = 33 + 6 * static_cast<float>(r.rank);  // 1 + 11 + 21, 3 + 13 + 23, 5 + 15 + 25
    EXPECT_THAT(r.result(2), ElementsAre(first, first + 3));
    ncclBroadcast(r.in, r.out, 2, ncclFloat, 1, r.comm, r.stream);
    EXPECT_THAT(r.result(2), ElementsAre(11, 12));
    ncclReduce(r.in, r.out, 1, ncclFloat, ncclSum, 2, r.comm, r.stream);
    EXPECT_THAT(r.result(1), ElementsAre(r.rank == 2 ? 33 : 11));  // others keep what they had
  });
  EXPECT_THAT(failures, ElementsAre("", "", ""));
}

TEST(Nccl, SendsInGroupsWithoutAnOrder) {
  const auto failures = on_ranks(3, [](Rank& r) {
    ncclGroupStart();
    for (int peer = 0; peer < 3; ++peer) {
      ncclSend(r.in + peer, 1, ncclFloat, peer, r.comm, r.stream);
      ncclRecv(r.out + peer, 1, ncclFloat, peer, r.comm, r.stream);
    }
    ncclGroupEnd();
    const auto own = static_cast<float>(r.rank + 1);
    EXPECT_THAT(r.result(3), ElementsAre(own, 10 + own, 20 + own));
  });
  EXPECT_THAT(failures, ElementsAre("", "", ""));
}

// NCCL connects two ranks at their first message, and both hosts wait for it, also where it has no elements.
TEST(Nccl, AFirstMessageKeepsTheHostUntilItsOtherSideIsCalled) {
  std::atomic<bool> returned = false;
  const auto failures = on_ranks(2, [&](Rank& r) {
    if (r.rank == 0) {
      ncclSend(r.in, 0, ncclFloat, 1, r.comm, r.stream);
      returned = true;
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      EXPECT_FALSE(returned);
      ncclRecv(r.out, 0, ncclFloat, 0, r.comm, r.stream);
    }
    EXPECT_EQ(cudaStreamSynchronize(r.stream), cudaSuccess);
  });
  EXPECT_THAT(failures, ElementsAre("", ""));
}

// Once they are connected a message waits on the stream alone, for its other side.
TEST(Nccl, AMessageOfNoElementsWantsItsOtherSide) {
  std::barrier both(2);
  const auto failures = on_ranks(2, [&](Rank& r) {
    const auto message = [&] {
      r.rank == 0 ? ncclSend(r.in, 0, ncclFloat, 1, r.comm, r.stream)
                  : ncclRecv(r.out, 0, ncclFloat, 0, r.comm, r.stream);
    };
    message();
    if (r.rank == 0) {
      cudaEvent_t sent = nullptr;
      cudaEventCreateWithFlags(&sent, cudaEventDisableTiming);
      message();
      cudaEventRecord(sent, r.stream);
      for (int i = 0; i < 100; ++i) EXPECT_EQ(cudaEventQuery(sent), cudaErrorNotReady);
    }
    both.arrive_and_wait();
    if (r.rank == 1) message();
    EXPECT_EQ(cudaStreamSynchronize(r.stream), cudaSuccess);
  });
  EXPECT_THAT(failures, ElementsAre("", ""));
}

// A rank that has its first result is not done with the others of the group.
TEST(Nccl, RunsCollectivesOfAGroupTogether) {
  const auto failures = on_ranks(3, [](Rank& r) {
    for (int again = 0; again < 30; ++again) {
      ncclGroupStart();
      for (int i = 0; i < 4; ++i) ncclAllReduce(r.in + i, r.out + i, 1, ncclFloat, ncclSum, r.comm, r.stream);
      ncclGroupEnd();
    }
    EXPECT_THAT(r.result(4), ElementsAre(33, 36, 39, 42));  // 1 + 11 + 21 and so on
  });
  EXPECT_THAT(failures, ElementsAre("", "", ""));
}

// Ranks 0 and 2 with their order turned round; rank 1 has no color.
TEST(Nccl, SplitsByColorInTheOrderOfKeys) {
  const auto failures = on_ranks(3, [](Rank& r) {
    ncclComm_t part = nullptr;
    EXPECT_EQ(ncclCommSplit(r.comm, r.rank == 1 ? NCCL_SPLIT_NOCOLOR : 7, -r.rank, &part, nullptr), ncclSuccess);
    EXPECT_EQ(part == nullptr, r.rank == 1);
    if (!part) return;
    ncclAllGather(r.in, r.out, 1, ncclFloat, part, r.stream);
    EXPECT_THAT(r.result(2), ElementsAre(21, 1));
    EXPECT_EQ(ncclCommDestroy(part), ncclSuccess);
  });
  EXPECT_THAT(failures, ElementsAre("", "", ""));
}

TEST(Nccl, TellsRanksThatCallDifferentThings) {
  const auto failures = on_ranks(
      2, [](Rank& r) { ncclAllReduce(r.in, r.out, r.rank == 0 ? 2 : 3, ncclFloat, ncclSum, r.comm, r.stream); });
  EXPECT_THAT(failures, testing::Each(HasSubstr("ranks call different things")));
}

TEST(Nccl, TellsWhoWritesWhatItReadsMeanwhile) {
  const auto failures = on_ranks(2, [](Rank& r) {
    cudaStream_t other = nullptr;
    cudaStreamCreateWithPriority(&other, cudaStreamNonBlocking, 0);
    for (int i = 0; i < 50; ++i) {
      ncclAllReduce(r.in, r.out, 2, ncclFloat, ncclSum, r.comm, r.stream);
      if (r.rank == 0) cudaMemsetAsync(r.in, i, 2 * sizeof(float), other);
    }
  });
  EXPECT_THAT(failures.front(), HasSubstr("while it ran"));
}

}  // namespace
}  // namespace emulated_gpu
