// tests/real/trace/join_test.cpp -- device records find their operators.
// SPDX-License-Identifier: Apache-2.0
#include "real/trace/join.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace {

real::DeviceRecord kernel(std::uint32_t correlation, std::uint64_t start, std::uint64_t end, std::string name) {
  return {.start_ns = start, .end_ns = end, .correlation = correlation, .name = std::move(name)};
}

TEST(Join, AnOperatorOfTwoKernelsIsBusyForTheirSumAndSpansTheirGap) {
  real::Records records;
  records.device = {kernel(2, 150, 180, "sum"), kernel(1, 100, 140, "split matmul")};
  records.owners = {{1, 42}, {2, 42}};
  const real::Joined joined = real::join(records);
  ASSERT_EQ(joined.operators.size(), 1u);
  const real::OperatorTime& op = joined.operators[0];
  EXPECT_EQ(op.owner, 42u);
  EXPECT_EQ(op.busy_ns, 40u + 30u);
  EXPECT_EQ(op.end_ns - op.start_ns, 80u);
  EXPECT_THAT(op.kernels, testing::ElementsAre("split matmul", "sum"));
}

TEST(Join, WhatNobodyOwnsIsAnOrphan) {
  real::Records records;
  records.device = {kernel(1, 0, 1, "known"), kernel(9, 1, 2, "stray")};
  records.owners = {{1, 1}};
  const real::Joined joined = real::join(records);
  ASSERT_EQ(joined.orphans.size(), 1u);
  EXPECT_EQ(joined.orphans[0].name, "stray");
}

TEST(Join, TheOrderInWhichRecordsComeDoesNotMatter) {
  // 50 operators of 1 to 3 kernels; the sums are kept while they are made, and the records then shuffled.
  std::mt19937 random(7);
  real::Records records;
  std::map<real::OperatorInstance, std::uint64_t> busy;
  std::uint64_t now = 0;
  for (std::uint32_t call = 0, op = 0; op < 50; ++op) {
    for (unsigned k = 0; k <= random() % 3; ++k, ++call) {
      const std::uint64_t length = 1 + random() % 1000;
      records.device.push_back(kernel(call, now, now + length, "k"));
      records.owners.push_back({call, op});
      busy[op] += length;
      now += length + random() % 10;
    }
  }
  std::ranges::shuffle(records.device, random);
  std::ranges::shuffle(records.owners, random);
  const real::Joined joined = real::join(records);
  ASSERT_EQ(joined.operators.size(), 50u);
  for (std::size_t i = 0; i < 50; ++i) {
    EXPECT_EQ(joined.operators[i].owner, i);  // by start
    EXPECT_EQ(joined.operators[i].busy_ns, busy[i]);
  }
}

}  // namespace
