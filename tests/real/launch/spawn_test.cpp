// tests/real/launch/spawn_test.cpp -- ranks as processes: started by ourselves, and by mpirun where it is installed.
// SPDX-License-Identifier: Apache-2.0
#include "real/launch/spawn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

#include "core/base/fault.h"

namespace {

std::vector<std::string> rank(const std::string& what, int odd = -1) {
  return {FORERUN_TEST_RANK, what, std::to_string(odd)};
}

TEST(Spawn, FourRanksMeetAndPassBigBuffersAllAtOnce) {
  testing::internal::CaptureStdout();
  EXPECT_TRUE(real::spawn(4, rank("big")).empty());
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "4 ranks by torchrun on 1 machine, 16777216 bytes from each to each\n");
}

TEST(Spawn, NamesTheRankThatFailedAndItsExitStatus) {
  testing::internal::CaptureStderr();
  const auto failures = real::spawn(4, rank("fails", 2));
  const std::string told = testing::internal::GetCapturedStderr();
  ASSERT_FALSE(failures.empty());
  EXPECT_THAT(failures, testing::Contains(testing::ResultOf([](const real::Ended& e) { return real::to_string(e); },
                                                            "rank 2 ended with exit status 9")));
}

TEST(Spawn, NamesTheSignalThatEndedARankAndEndsTheOthers) {
  testing::internal::CaptureStderr();
  const auto failures = real::spawn(4, rank("killed", 1));
  const std::string told = testing::internal::GetCapturedStderr();
  ASSERT_FALSE(failures.empty());
  EXPECT_THAT(failures, testing::Contains(testing::ResultOf([](const real::Ended& e) { return real::to_string(e); },
                                                            "rank 1 was ended by signal 9 (Killed)")));
}

TEST(Spawn, ARankThatSleepsIsEndedWhenAnotherFails) {
  testing::internal::CaptureStderr();
  const auto start = std::chrono::steady_clock::now();
  const auto failures = real::spawn(3, rank("absent", 2));  // rank 2 sleeps for a minute without joining
  // The rank that says it first ends the other one, which may or may not have said it too.
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::StartsWith("only 2 of 3 ranks came: missing 2"));
  EXPECT_FALSE(failures.empty());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(50));
}

TEST(Spawn, SaysWhatCannotBeStarted) {
  try {
    real::spawn(2, {"/no/such/worker"});
    FAIL() << "started";
  } catch (const base::DeviceError& error) {
    EXPECT_STREQ(error.what(), "cannot start /no/such/worker: No such file or directory");
  }
}

TEST(Spawn, MpirunsRanksMeetWithoutAnMpiLibrary) {
  if (std::system("command -v mpirun >/dev/null") != 0) GTEST_SKIP() << "mpirun is not installed";
  const std::string command =
      std::string("mpirun --allow-run-as-root --oversubscribe -n 4 ") + FORERUN_TEST_RANK + " ping";
  EXPECT_EQ(std::system(command.c_str()), 0);
}

}  // namespace
