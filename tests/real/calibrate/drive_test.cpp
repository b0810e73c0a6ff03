// tests/real/calibrate/drive_test.cpp -- tests real/calibrate/drive.h. SPDX-License-Identifier: Apache-2.0
#include "real/calibrate/drive.h"

#include <gtest/gtest.h>

#include "core/base/fault.h"
#include "tests/cli/run_forerun.h"

namespace {

// 32 MiB are 8 requests; a rate is what was moved over a time of which the run itself took no less.
TEST(Drive, IsWrittenAndReadAndKeepsNothing) {
  const testing_support::ScratchFolder folder;
  const auto begun = std::chrono::steady_clock::now();
  const real::DriveRates rates = real::drive_rates(folder / ".", {.most = base::MiB(32) + base::MiB(3)});
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  EXPECT_EQ(rates.bytes, base::MiB(32));
  EXPECT_GE(rates.write.si(), rates.bytes.si() / took);
  EXPECT_GE(rates.read.si(), rates.bytes.si() / took);
  EXPECT_EQ(folder.files(), 0);
}

TEST(Drive, ATimeThatIsOverEndsTheRun) {
  const testing_support::ScratchFolder folder;
  const real::DriveRates rates = real::drive_rates(folder / ".", {.most = base::GiB(64), .time = base::ms(50)});
  EXPECT_GT(rates.bytes, base::Bytes(0));
  EXPECT_LT(rates.bytes, base::GiB(4));
}

TEST(Drive, AFolderThatIsNotThereIsNamed) {
  try {
    real::drive_rates("/no/such/folder");
    FAIL() << "there is one";
  } catch (const base::DeviceError& error) {
    EXPECT_STREQ(error.what(), "cannot make a file in '/no/such/folder': No such file or directory");
  }
}

TEST(Drive, IsToldAsANodesFileHasIt) {
  EXPECT_EQ(real::text({base::GBps(55.3), base::GBps(33.94), base::GiB(32), true}, "/scratch"),
            "drives behind /scratch: read 55.3 GB/s, written 33.9 GB/s (34.4 GB)\n"
            "  for this machine's node: nvme: {read: 55.3GB/s, write: 33.9GB/s}\n");
}

}  // namespace
