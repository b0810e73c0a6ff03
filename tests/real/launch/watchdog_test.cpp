// tests/real/launch/watchdog_test.cpp -- a process whose libraries wait for another rank ends, and says why.
// SPDX-License-Identifier: Apache-2.0
#include "real/launch/watchdog.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "real/launch/worker_exit.h"

namespace {

using real::HostCall;

TEST(HostCall, IsOverdueWhileItLastsLongerThanItMay) {
  HostCall call;
  EXPECT_EQ(call.overdue(), nullptr);
  {
    const HostCall::Scope patient(call, "ncclSend", base::s(1000));
    EXPECT_EQ(call.overdue(), nullptr);
  }
  {
    const HostCall::Scope hasty(call, "ncclRecv", base::s(-1));
    EXPECT_STREQ(call.overdue(), "ncclRecv");
  }
  EXPECT_EQ(call.overdue(), nullptr);
}

// A launch that ends shows that the operator around it goes on; what it does next has all its time.
TEST(HostCall, OneInsideAnotherStandsForItAndBeginsItsTimeAnew) {
  HostCall call;
  const HostCall::Scope outer(call, "an operator", base::ms(300));
  std::this_thread::sleep_for(std::chrono::milliseconds(301));
  EXPECT_STREQ(call.overdue(), "an operator");
  {
    const HostCall::Scope inner(call, "a launch", base::s(1000));
    EXPECT_EQ(call.overdue(), nullptr);
    {
      const HostCall::Scope innermost(call, "ncclSend", base::s(-1));
      EXPECT_STREQ(call.overdue(), "ncclSend");
    }
    EXPECT_EQ(call.overdue(), nullptr);
  }
  EXPECT_EQ(call.overdue(), nullptr);
  std::this_thread::sleep_for(std::chrono::milliseconds(301));
  EXPECT_STREQ(call.overdue(), "an operator");
}

using WatchdogDeathTest = testing::Test;

// Nobody is lost: the other rank lives, and does not come.
TEST(WatchdogDeathTest, EndsAProcessThatACallHolds) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto is_held = [] {
    auto worlds = real::in_process(2);
    const real::Watchdog watchdog(worlds[1]);
    const HostCall::Scope held(*worlds[1].call, "ncclSend", base::ms(1));
    std::this_thread::sleep_for(std::chrono::minutes(1));
  };
  EXPECT_EXIT(is_held(), testing::ExitedWithCode(real::kWorkerDeviceFailed),
              "rank 1 is held by ncclSend: it may wait for another rank");
}

}  // namespace
