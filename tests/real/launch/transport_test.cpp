// tests/real/launch/transport_test.cpp -- bytes from rank to rank: the same claims of memory and of TCP.
// SPDX-License-Identifier: Apache-2.0
#include "real/launch/transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "real/launch/ping.h"
#include "tests/real/launch/worlds.h"

namespace {

using testing::Each;
using testing::HasSubstr;
using worlds::kLong;

class Transport : public testing::TestWithParam<worlds::Kind> {};

real::Blob bytes(std::initializer_list<int> values) {
  real::Blob out;
  for (const int value : values) out.push_back(static_cast<std::byte>(value));
  return out;
}

TEST_P(Transport, RanksThatAllSendBigBuffersFirstDoNotBlockOneAnother) {
  // 16 MB from each of 4 ranks to each: far beyond what sockets hold. ping() sends all before it receives.
  const auto body = [](real::World& world) { real::ping(world, 16u << 20); };
  EXPECT_THAT(worlds::run(GetParam(), 4, body, kLong), Each(""));
}

TEST_P(Transport, OneChannelKeepsItsOrderAndDoesNotWaitForAnother) {
  const auto body = [](real::World& world) {
    real::Transport& transport = *world.transport;
    if (world.identity.rank == 0) {
      transport.send(1, 7, bytes({1}));
      transport.send(1, 7, bytes({2}));
      transport.send(1, 8, bytes({3}));
      return;
    }
    EXPECT_EQ(transport.receive(0, 8, kLong.message), bytes({3}));
    EXPECT_EQ(transport.receive(0, 7, kLong.message), bytes({1}));
    EXPECT_EQ(transport.receive(0, 7, kLong.message), bytes({2}));
  };
  EXPECT_THAT(worlds::run(GetParam(), 2, body, kLong), Each(""));
}

TEST_P(Transport, AMessageMayBeEmptyAndMayBeForOneself) {
  const auto body = [](real::World& world) {
    world.transport->send(0, 1, {});
    EXPECT_TRUE(world.transport->receive(0, 1, kLong.message).empty());
  };
  EXPECT_THAT(worlds::run(GetParam(), 1, body, kLong), Each(""));
}

TEST_P(Transport, ManyMessagesOfAllSizesFromManyThreadsArriveWhole) {
  // Each rank sends on 4 channels from 4 threads; byte i of message m is m + i, and its length is drawn from the same
  // seed.
  constexpr int kRanks = 3, kChannels = 4, kMessages = 50;
  const auto length = [](int from, int channel, int message) {
    std::mt19937 random(static_cast<unsigned>(from * 10000 + channel * 1000 + message));
    return std::size_t{1} << (random() % 18);
  };
  const auto body = [&](real::World& world) {
    std::vector<std::jthread> threads;
    for (int channel = 0; channel < kChannels; ++channel) {
      threads.emplace_back([&, channel] {
        for (int m = 0; m < kMessages; ++m) {
          real::Blob out(length(world.identity.rank, channel, m));
          for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::byte>(i + static_cast<std::size_t>(m));
          for (int to = 0; to < kRanks; ++to) world.transport->send(to, static_cast<real::Channel>(channel), out);
        }
        for (int from = 0; from < kRanks; ++from) {
          for (int m = 0; m < kMessages; ++m) {
            const real::Blob in = world.transport->receive(from, static_cast<real::Channel>(channel), kLong.message);
            ASSERT_EQ(in.size(), length(from, channel, m));
            EXPECT_EQ(in.back(), static_cast<std::byte>(in.size() - 1 + static_cast<std::size_t>(m)));
          }
        }
      });
    }
  };
  EXPECT_THAT(worlds::run(GetParam(), kRanks, body, kLong), Each(""));
}

TEST_P(Transport, AMessageOfAnotherLengthIsAnError) {
  const auto body = [](real::World& world) {
    world.transport->send(0, 1, bytes({1, 2, 3}));
    real::Blob place(4);
    world.transport->receive_into(0, 1, place, kLong.message);
  };
  EXPECT_THAT(worlds::run(GetParam(), 1, body, kLong), Each("rank 0 sent 3 bytes on channel 1 where rank 0 expects 4"));
}

TEST_P(Transport, AMessageThatDoesNotComeIsNotWaitedForForEver) {
  const auto body = [](real::World& world) {
    if (world.identity.rank == 0) {
      EXPECT_THROW(world.transport->receive(1, 1, base::ms(200)), base::DeviceError);
      world.store->set("done", "");
    }
    world.store->wait("done", kLong.message);
  };
  EXPECT_THAT(worlds::run(GetParam(), 2, body, kLong), Each(""));
}

TEST_P(Transport, WhoWaitsForARankThatWaitsForALostOneIsToldOfTheLostOne) {
  // 0 waits for 1, 1 for 2, 2 is lost: the cause is rank 2, not rank 1.
  const auto body = [](real::World& world) {
    if (world.identity.rank == 2) throw base::DeviceError("lost");
    world.transport->receive(world.identity.rank + 1, 1, kLong.message);
  };
  const worlds::Ends ends = worlds::run(GetParam(), 3, body, kLong);
  EXPECT_THAT(ends[0], HasSubstr("rank 2 ("));
  EXPECT_THAT(ends[1], HasSubstr("rank 2 ("));
}

INSTANTIATE_TEST_SUITE_P(By, Transport, testing::Values(worlds::Kind::memory, worlds::Kind::tcp),
                         [](const auto& info) { return worlds::name(info.param); });

}  // namespace
