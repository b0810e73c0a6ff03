// SPDX-License-Identifier: Apache-2.0
#include "core/config/change_reader.h"

#include <gtest/gtest.h>

#include "tests/support/toy.h"

namespace {

using spec::Change;

std::vector<Change> read(const std::string& text, const spec::Job& job = toy::job()) {
  const spec::Changes changes = config::read_changes(text, job, "--what-if");
  EXPECT_TRUE(changes.refused.empty()) << text;
  return changes.sound;
}

std::string refusal(const std::string& text, const spec::Job& job = toy::job()) {
  std::string out;
  for (const spec::RefusedChange& one : config::read_changes(text, job, "--what-if").refused) {
    for (const base::Fault& fault : one.faults) out += base::to_string(fault) + '\n';
  }
  return out;
}

TEST(ChangeReader, MultipliesAddsAPartAndSets) {
  // The toy's HBM is 1 TB/s, its NVLink 100 GB/s, its NIC 10 GB/s.
  const std::vector<Change> changes = read("hbm=2x, nvlink=-10%,nic=400Gb/s");
  ASSERT_EQ(changes.size(), 3u);
  EXPECT_EQ(changes[0].written, "hbm=2x");
  EXPECT_EQ(changes[0].settings.at(0).input, "gpu.hbm");
  EXPECT_EQ(changes[0].settings.at(0).before, 1e12);
  EXPECT_EQ(changes[0].settings.at(0).after, 2e12);
  EXPECT_DOUBLE_EQ(changes[1].settings.at(0).after, 90e9);
  EXPECT_EQ(changes[2].settings.at(0).after, 50e9);  // bits
}

TEST(ChangeReader, APeakIsOfThePrecisionAndTheOthersFollow) {
  // bf16 1000 to 1200 TFLOP/s: fp32 from 62.5 to 75.
  const std::vector<Change> changes = read("gpu.peak=1.2PFLOP/s");
  ASSERT_EQ(changes.at(0).settings.size(), 4u);
  EXPECT_EQ(changes[0].settings[0].input, "gpu.peak.bf16");
  EXPECT_DOUBLE_EQ(changes[0].settings[0].after, 1.2e15);
  EXPECT_EQ(changes[0].settings[1].input, "gpu.peak.fp32");
  EXPECT_DOUBLE_EQ(changes[0].settings[1].after, 75e12);
}

TEST(ChangeReader, ALatencyMayBeNothingAndARateNot) {
  const spec::Job job = toy::job({}, [](spec::Job& j) { j.framework.launch = base::us(5); });
  EXPECT_EQ(read("framework.launch=0us", job).at(0).settings.at(0).after, 0);
  EXPECT_NE(refusal("hbm=0GB/s").find("zero or less"), std::string::npos);
  EXPECT_NE(refusal("hbm=-100%").find("zero or less"), std::string::npos);
  EXPECT_NE(refusal("hbm=0GB/s").find("nearer to that of today, 1.00 TB/s"), std::string::npos) << refusal("hbm=0GB/s");
}

TEST(ChangeReader, ChangesEveryKindOfNodeUnlessOneIsNamed) {
  spec::Job job = toy::job({.dp = 16});
  spec::Node other = job.cluster.node;
  other.name = "other";
  other.gpu.hbm = base::GBps(500);
  job.cluster.groups = {{job.cluster.node, 1}, {other, 1}};
  EXPECT_EQ(read("hbm=2x", job).at(0).settings.size(), 2u);
  const auto one = read("hbm@other=2x", job).at(0).settings;
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].after, 1e12);
}

TEST(ChangeReader, RefusesByNameAndHelps) {
  EXPECT_NE(refusal("nicc=2x").find("--what-if nicc: is no input of this job"), std::string::npos);
  EXPECT_NE(refusal("nicc=2x").find("did you mean nic?"), std::string::npos);
  EXPECT_NE(refusal("hbm=800").find("'800' has no unit"), std::string::npos);
  EXPECT_NE(refusal("hbm=0").find("write 50GB/s (bytes)"), std::string::npos);  // and not zero, which is refused next
  EXPECT_NE(refusal("hbm=30%").find("does not say more or less"), std::string::npos);
  EXPECT_NE(refusal("hbm=2x,gpu.hbm=3x").find("is changed twice"), std::string::npos);
  EXPECT_NE(refusal("hbm").find("'hbm' is no change"), std::string::npos);
  EXPECT_NE(refusal("compute_slowdown=0.5").find("less than it can be"), std::string::npos);
  EXPECT_NE(refusal("gpu.memory=1000000000TB").find("more than can be reckoned with"), std::string::npos);
  EXPECT_NE(refusal("gpu.sms=1e9").find("more than can be reckoned with"), std::string::npos);
  EXPECT_NE(refusal("links.send.latency=2x").find("is zero, and stays so"), std::string::npos);
}

TEST(ChangeReader, AShareIsOneAtMost) {
  const spec::Job job = toy::job(
      {}, [](spec::Job& j) { j.cluster.node.calibration.matmul[static_cast<int>(spec::Dtype::bf16)].ceiling = 0.8; });
  EXPECT_EQ(read("matmul.bf16.half_tile=1", job).size(), 1u);
  EXPECT_NE(refusal("matmul.bf16.half_tile=1.5", job).find("more than it can be"), std::string::npos);
}

TEST(ChangeReader, TellsAllFaultsAtOnce) {
  const std::string all = refusal("nicc=2x,hbm=800");
  EXPECT_NE(all.find("nicc"), std::string::npos);
  EXPECT_NE(all.find("'800'"), std::string::npos);
}

TEST(ChangeReader, ARefusedChangeTakesNoOtherAway) {
  const spec::Changes changes = config::read_changes("nicc=2x,hbm=2x,gpu.hbm=3x,nic=2x", toy::job(), "--what-if");
  ASSERT_EQ(changes.sound.size(), 2u);
  EXPECT_EQ(changes.sound[0].written, "hbm=2x");
  EXPECT_EQ(changes.sound[1].written, "nic=2x");
  ASSERT_EQ(changes.refused.size(), 2u);
  EXPECT_EQ(changes.refused[0].written, "nicc=2x");
  EXPECT_EQ(changes.refused[1].written, "gpu.hbm=3x");
}

}  // namespace
