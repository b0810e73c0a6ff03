// tests/real/launch/store_test.cpp -- the ranks' shared table: the same claims of the one in memory and the one by TCP.
// SPDX-License-Identifier: Apache-2.0
#include "real/launch/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <sys/socket.h>

#include <memory>

#include "tests/real/launch/worlds.h"

namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using worlds::kLong;

class Store : public testing::TestWithParam<worlds::Kind> {};

TEST_P(Store, AValueIsWaitedForAndComesAsItWas) {
  const std::string bytes("a\0b\n", 4);
  EXPECT_THAT(worlds::run(
                  GetParam(), 3,
                  [&](real::World& world) {
                    if (world.identity.rank == 2) world.store->set("id", bytes);
                    EXPECT_EQ(world.store->get("id", kLong.message), bytes);
                  },
                  kLong),
              Each(""));
}

TEST_P(Store, GatherTellsEveryRanksValueInOrder) {
  EXPECT_THAT(worlds::run(
                  GetParam(), 3,
                  [&](real::World& world) {
                    const std::string mine = std::to_string(world.identity.rank * 10);
                    EXPECT_THAT(world.store->gather("tens", mine, kLong.message), ElementsAre("0", "10", "20"));
                  },
                  kLong),
              Each(""));
}

TEST_P(Store, NobodyPassesABarrierBeforeAllHaveCome) {
  std::atomic<int> came{0};
  const auto body = [&](real::World& world) {
    for (int round = 1; round <= 3; ++round) {  // a name may be used again
      ++came;
      world.store->barrier("round", kLong.message);
      EXPECT_GE(came, 4 * round);
    }
  };
  EXPECT_THAT(worlds::run(GetParam(), 4, body, kLong), Each(""));
}

TEST_P(Store, ABarrierThatSomeMissSaysWho) {
  const auto body = [&](real::World& world) {
    if (world.identity.rank != 2) {
      world.store->wait("seen", kLong.message);  // keeps the others in the run, but not at the barrier
      return;
    }
    try {
      world.store->barrier("start", base::ms(300));
      ADD_FAILURE() << "passed";
    } catch (const base::DeviceError& error) {
      EXPECT_STREQ(error.what(), "only 1 of 4 ranks came to 'start': missing 0, 1, 3");
    }
    world.store->set("seen", "");
  };
  EXPECT_THAT(worlds::run(GetParam(), 4, body, kLong), Each(""));
}

TEST_P(Store, AValueThatNobodySetsIsNotWaitedForForEver) {
  const auto body = [](real::World& world) { world.store->get("id", base::ms(200)); };
  EXPECT_THAT(worlds::run(GetParam(), 1, body, kLong), ElementsAre("nobody set 'id' within 200 ms"));
}

TEST_P(Store, ARankThatEndsWithoutLeavingIsNamedToAll) {
  const auto body = [](real::World& world) {
    if (world.identity.rank == 2) throw base::DeviceError("I am rank 2");
    world.store->get("never", kLong.message);
  };
  worlds::Ends ends = worlds::run(GetParam(), 4, body, kLong);
  EXPECT_EQ(ends[2], "I am rank 2");
  ends.erase(ends.begin() + 2);
  EXPECT_THAT(ends, Each(testing::AllOf(HasSubstr("rank 2 ("), HasSubstr(") ended before the others"))));
}

TEST_P(Store, ARankThatGivesUpTellsWhy) {
  const auto body = [](real::World& world) {
    if (world.identity.rank == 0) world.store->abort("out of memory");
    world.store->barrier("end", kLong.message);
  };
  EXPECT_THAT(worlds::run(GetParam(), 3, body, kLong), Each("rank 0 gave up: out of memory"));
}

INSTANTIATE_TEST_SUITE_P(By, Store, testing::Values(worlds::Kind::memory, worlds::Kind::tcp),
                         [](const auto& info) { return worlds::name(info.param); });

const real::Patience kShort{.join = base::ms(500), .message = base::s(60), .finish = base::s(60)};
const auto kNothing = [](real::World&) {};

TEST(TcpStore, SaysWhichRanksDidNotCome) {
  // Time enough for the other four to come on a busy machine.
  const real::Patience patience{.join = base::s(4), .message = base::s(60), .finish = base::s(60)};
  const worlds::Ends ends = worlds::run(worlds::Kind::tcp, 6, kNothing, patience, {2, 5});
  for (const int rank : {0, 1, 3, 4}) {
    EXPECT_EQ(ends[static_cast<std::size_t>(rank)],
              "only 4 of 6 ranks came: missing 2, 5 (FORERUN_JOIN_SECONDS sets how long they are waited for, now 4 s)");
  }
}

TEST(Patience, IsSetByTheEnvironment) {
  const auto of = [](const std::optional<std::string>& told) {
    return real::patience_from(
        [&](const std::string& name) { return name == "FORERUN_JOIN_SECONDS" ? told : std::nullopt; });
  };
  EXPECT_EQ(of({}).join, base::s(60));
  EXPECT_EQ(of("300").join, base::s(300));
  EXPECT_EQ(of("300").message, base::s(600));
  for (const char* wrong : {"0", "-1", "1m", "86401"}) EXPECT_THROW(of(wrong), base::InputError) << wrong;
}

// A machine of two addresses, of which the first swallows what is sent to it: its backlog is full.
TEST(Socket, AnAddressFromWhichNothingComesBackIsLeftForTheNext) {
  const auto address = [](const char* host, int port) {
    addrinfo hints{}, *found = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICHOST;
    EXPECT_EQ(getaddrinfo(host, std::to_string(port).c_str(), &hints, &found), 0);
    return std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>(found, &freeaddrinfo);
  };
  const real::Socket silent(socket(AF_INET, SOCK_STREAM, 0));
  const auto own = address("127.0.0.2", 0);
  ASSERT_EQ(bind(silent.fd(), own->ai_addr, own->ai_addrlen), 0);
  ASSERT_EQ(listen(silent.fd(), 0), 0);
  const auto first = address("127.0.0.2", real::port_of(silent));
  std::vector<real::Socket> waiting;
  for (int i = 0; i < 8; ++i) {
    waiting.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
    connect(waiting.back().fd(), first->ai_addr, first->ai_addrlen);
  }
  const real::Socket listener = real::listen_on(0);
  const auto second = address("127.0.0.1", real::port_of(listener));
  first->ai_next = second.get();
  std::string problem;
  const real::Socket made = real::try_each(first.get(), real::Deadline::in(base::s(8)), problem);
  first->ai_next = nullptr;
  EXPECT_TRUE(made) << problem;
}

TEST(TcpStore, SaysThatRank0DidNotCome) {
  const worlds::Ends ends = worlds::run(worlds::Kind::tcp, 2, kNothing, kShort, {0});
  EXPECT_THAT(
      ends[1],
      testing::MatchesRegex(
          "rank 1 waited 0.5 s for rank 0 .FORERUN_JOIN_SECONDS sets how long.: cannot reach 127.0.0.1:[0-9]+: .*"));
}

TEST(TcpStore, TwoProcessesThatSayTheyAreTheSameRankAreAFault) {
  real::Patience patience = kLong;
  const int port = real::port_of(real::listen_on(0));
  worlds::Ends ends(3);
  const auto start = [&](std::size_t at, int rank) {
    return std::jthread([&, at, rank] {
      ends[at] = worlds::detail::run(
          [&] {
            real::Identity id{.rank = rank, .world = 3};
            id.store_port = port;
            return real::join(id, patience);
          },
          kNothing);
    });
  };
  { const auto a = start(0, 0), b = start(1, 1), c = start(2, 1); }
  EXPECT_THAT(ends, Each(testing::StartsWith("two processes say that they are rank 1: ")));
}

}  // namespace
