// tests/core/config/messages_units_test.cpp -- what users are told of quantities without their unit, in a wrong one, or
// out of this world, word for word. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "tests/core/config/messages.h"

namespace config::testing {
namespace {

using UnitsMessages = MessageTest;

TEST_F(UnitsMessages, APowerNeedsItsUnit) {
  EXPECT_EQ(of_cluster("node: {base: box-8, power: 10}"),
            "job.yaml:2:38: error: cluster.node.power: '10' has no unit\n"
            "  mend: write a power with its unit, such as 700W");
}

TEST_F(UnitsMessages, ASpeedNeedsItsUnit) {
  EXPECT_EQ(of_cluster("node: {base: box-8, gpu: {peak: {bf16: 989}}}"),
            "job.yaml:2:50: error: cluster.node.gpu.peak.bf16: '989' has no unit\n"
            "  mend: write a speed with its unit, such as 989TFLOP/s");
}

TEST_F(UnitsMessages, ATimeNeedsItsUnit) {
  EXPECT_EQ(of_cluster("node: box-8, nodes: 2, fabric: {base: flat, hop_latency: 5}"),
            "job.yaml:2:68: error: cluster.fabric.hop_latency: '5' has no unit\n"
            "  mend: write a time with its unit, such as 1.5us or 60d");
}

TEST_F(UnitsMessages, AnAmountOfBitsIsNoBandwidth) {
  EXPECT_EQ(of_cluster("node: {base: box-8, nic: {bandwidth: 400Gb}}"),
            "job.yaml:2:48: error: cluster.node.nic.bandwidth: '400Gb' is an amount, not a rate\n"
            "  mend: write 400Gb/s");
}

TEST_F(UnitsMessages, ABandwidthIsNoAmountOfBytes) {
  EXPECT_EQ(of_cluster("node: {base: box-8, gpu: {memory: 80GB/s}}"),
            "job.yaml:2:45: error: cluster.node.gpu.memory: 'GB/s' in '80GB/s' is not a unit of size\n"
            "  mend: write a size with its unit, such as 80GB");
}

TEST_F(UnitsMessages, AUnitThatDoesNotExist) {
  EXPECT_EQ(of_cluster("node: {base: box-8, nic: {bandwidth: 400gbps}}"),
            "job.yaml:2:48: error: cluster.node.nic.bandwidth: 'gbps' in '400gbps' is not a unit of bandwidth\n"
            "  mend: write a bandwidth with its unit, such as 450GB/s (bytes) or 400Gb/s (bits)");
}

TEST_F(UnitsMessages, ABandwidthIsNotNegative) {
  EXPECT_EQ(of_cluster("node: {base: box-8, gpu: {hbm: -3TB/s}}"),
            "job.yaml:2:42: error: cluster.node.gpu.hbm: '-3TB/s' is negative\n"
            "  mend: write a bandwidth of zero or more, such as 450GB/s (bytes) or 400Gb/s (bits)");
}

TEST_F(UnitsMessages, InfinityIsNoQuantity) {
  EXPECT_EQ(of_cluster("node: {base: box-8, gpu: {hbm: infTB/s}}"),
            "job.yaml:2:42: error: cluster.node.gpu.hbm: 'infTB/s' is not a number with a unit\n"
            "  mend: write a bandwidth with its unit, such as 450GB/s (bytes) or 400Gb/s (bits)");
}

TEST_F(UnitsMessages, NotANumberIsNoQuantity) {
  EXPECT_EQ(of_cluster("node: {base: box-8, gpu: {memory: nanGB}}"),
            "job.yaml:2:45: error: cluster.node.gpu.memory: 'nanGB' is not a number with a unit\n"
            "  mend: write a size with its unit, such as 80GB");
}

TEST_F(UnitsMessages, NoMachineHasThat) {
  // 10^20 GB are 10^29 bytes.
  EXPECT_EQ(of_cluster("node: {base: box-8, gpu: {memory: 1e20GB}}"),
            "job.yaml:2:45: error: cluster.node.gpu.memory: '1e20GB' is out of range\n"
            "  mend: write a quantity that a real machine can have");
}

TEST_F(UnitsMessages, AGpuHasMemory) {
  EXPECT_EQ(of_cluster("node: {base: box-8, gpu: {memory: 0GB}}"),
            "job.yaml:2:45: error: cluster.node.gpu.memory: is zero\n"
            "  mend: write the GPU's memory, such as 80GB");
}

TEST_F(UnitsMessages, AListIsNoQuantity) {
  EXPECT_EQ(of_cluster("node: {base: box-8, gpu: {memory: [80GB]}}"),
            "job.yaml:2:45: error: cluster.node.gpu.memory: a list is not a size with its unit, such as 80GB\n"
            "  mend: write a size with its unit, such as 80GB");
}

TEST_F(UnitsMessages, AnOversubscriptionIsANumber) {
  EXPECT_EQ(of_cluster("node: box-8, nodes: 2, fabric: {base: flat, oversubscription: nan}"),
            "job.yaml:2:73: error: cluster.fabric.oversubscription: 'nan' is not a number\n"
            "  mend: write a number from 1 to 1000");
}

}  // namespace
}  // namespace config::testing
