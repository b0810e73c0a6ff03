// SPDX-License-Identifier: Apache-2.0
#include "core/config/network_calibration_writer.h"

#include <gtest/gtest.h>

#include "core/config/network_calibration_reader.h"

namespace {

TEST(NetworkCalibrationWriter, WhatIsWrittenIsReadAgain) {
  spec::NetworkCalibration written;
  written.all_reduce.latency = base::us(12.5);
  written.all_reduce.low_latency = {0.25, base::us(3), base::us(0.5)};
  written.all_reduce.ll128 = {0.75, base::us(6), base::us(1.25)};
  written.all_reduce.covered = {base::Bytes(8), base::GiB(8), 2, 8, 93};
  written.all_reduce.measured = true;
  written.all_reduce.source = "93 rows, \"mine\"";
  written.nvls = written.all_reduce;
  written.experts_call = base::us(100);
  written.experts_call_source = "a table";
  written.sources = {"all_reduce.log"};
  const std::string yaml = config::network_calibration_yaml(written, "two\nlines");
  EXPECT_TRUE(yaml.starts_with("# two\n# lines\nall_reduce:\n"));

  config::Faults faults;
  const spec::NetworkCalibration read = config::read_network_calibration(config::parse(yaml, "my.yaml"), "my", faults);
  for (const base::Fault& fault : faults) ADD_FAILURE() << base::to_string(fault);
  EXPECT_DOUBLE_EQ(read.all_reduce.latency.si(), 12.5e-6);
  EXPECT_DOUBLE_EQ(read.all_reduce.ll128.efficiency, 0.75);
  EXPECT_DOUBLE_EQ(read.nvls.low_latency.hop.si(), 0.5e-6);
  EXPECT_DOUBLE_EQ(read.all_reduce.covered.to.si(), 8589934592.0);
  EXPECT_EQ(read.all_reduce.covered.most_ranks, 8);
  EXPECT_EQ(read.all_reduce.covered.rows, 93);
  EXPECT_EQ(read.all_reduce.source, written.all_reduce.source);
  EXPECT_TRUE(read.all_reduce.measured);
  EXPECT_FALSE(read.tree.offered());
  EXPECT_DOUBLE_EQ(read.experts_call.si(), 1e-4);
  EXPECT_EQ(read.experts_call_source, "a table");
  EXPECT_EQ(read.sources, written.sources);
}

TEST(NetworkCalibrationReader, ACallOfExpertsSaysWhereItIsFrom) {
  spec::NetworkCalibration written;
  written.sources = {"all_reduce.log"};
  written.experts_call = base::us(100);
  config::Faults faults;
  config::read_network_calibration(config::parse(config::network_calibration_yaml(written, "x"), "my.yaml"), "my",
                                   faults);
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].field, "my.experts_call_source");
}

}  // namespace
