// tests/core/spec/offload_test.cpp -- what no framework has, and nodes without the hardware for it.
// SPDX-License-Identifier: Apache-2.0
#include "core/spec/offload.h"

#include <gtest/gtest.h>

#include "tests/support/toy.h"

namespace {

using To = spec::Offload::To;

std::string first_fault(int zero, const spec::Offload& offload, const spec::Framework& framework = {}) {
  spec::Job job = toy::draft({.dp = 2, .zero = zero});
  job.strategy.offload = offload;
  job.framework = framework;
  job.cluster.node.nvme.read = job.cluster.node.nvme.write = base::GBps(4);
  const std::vector<base::Fault> faults = spec::check(job);
  return faults.empty() ? "" : faults.front().field;
}

TEST(OffloadRules, StatesAndParametersLeaveAsShards) {
  EXPECT_EQ(first_fault(0, {.optimizer = To::cpu}), "strategy.offload.optimizer");
  EXPECT_EQ(first_fault(1, {.optimizer = To::cpu}), "");
  EXPECT_EQ(first_fault(2, {.optimizer = To::nvme}), "strategy.offload.optimizer");
  EXPECT_EQ(first_fault(2, {.optimizer = To::cpu, .parameters = To::cpu}), "strategy.offload.parameters");
  EXPECT_EQ(first_fault(3, {.optimizer = To::nvme, .parameters = To::nvme}), "");
  EXPECT_EQ(first_fault(0, {.activations = true}), "");
}

TEST(OffloadRules, AFrameworkThatUpdatesShardsWhereTheyAreOffloadsBothOrNone) {
  spec::Framework fsdp;
  fsdp.offloads_to_drives = false;
  fsdp.updates_where_kept = true;
  EXPECT_EQ(first_fault(3, {.optimizer = To::cpu}, fsdp), "strategy.offload.parameters");
  EXPECT_EQ(first_fault(3, {.parameters = To::cpu}, fsdp), "strategy.offload.optimizer");
  EXPECT_EQ(first_fault(3, {.optimizer = To::cpu, .parameters = To::cpu}, fsdp), "");
  EXPECT_EQ(first_fault(3, {.optimizer = To::nvme, .parameters = To::cpu}, fsdp), "strategy.offload.optimizer");
}

TEST(OffloadRules, AFrameworkMayKeepParametersOnTheGpu) {
  spec::Framework core;
  core.offloads_parameters = false;
  EXPECT_EQ(first_fault(3, {.optimizer = To::cpu}, core), "");
  EXPECT_EQ(first_fault(3, {.optimizer = To::cpu, .parameters = To::cpu}, core), "strategy.offload.parameters");
}

TEST(OffloadRules, AHostWithoutMemoryTakesNothing) {
  spec::Job job = toy::draft({.zero = 1});
  job.strategy.offload.optimizer = To::cpu;
  job.cluster.node.host = {};
  ASSERT_FALSE(spec::check(job).empty());
  EXPECT_EQ(spec::check(job).front().field, "cluster.node.host");
  job = toy::draft({.dp = 2, .zero = 3});
  job.strategy.offload.optimizer = To::nvme;
  ASSERT_FALSE(spec::check(job).empty());
  EXPECT_EQ(spec::check(job).front().field, "cluster.node.nvme");
}

}  // namespace
