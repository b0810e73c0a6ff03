// tests/core/plan/work_test.cpp -- FLOPs of small works counted by hand.
// SPDX-License-Identifier: Apache-2.0
#include "core/plan/work.h"

#include <gtest/gtest.h>

namespace {

plan::Attention attention(std::int64_t q, std::int64_t kv, bool causal, std::int64_t window = 0) {
  return {.batch = 1,
          .q_len = q,
          .kv_len = kv,
          .heads = 1,
          .kv_heads = 1,
          .head_dim = 1,
          .causal = causal,
          .window = window};
}

TEST(HardwareFlops, AMultiplyAddCountsAsTwo) {
  EXPECT_EQ(plan::hardware_flops(plan::Matmul{.m = 2, .n = 3, .k = 5, .batch = 7}), 420);
}
TEST(HardwareFlops, CausalAttentionIsHalfOfTheSquare) {
  EXPECT_EQ(plan::hardware_flops(attention(100, 100, false)), 40000);
  EXPECT_EQ(plan::hardware_flops(attention(100, 100, true)), 20000);
}
TEST(HardwareFlops, QueriesAtTheEndOfLongerKeysSeeAllThatStandsBefore) {
  // 10 queries over 100 keys: 10 x 100 less a triangle of 10 x 10 / 2.
  EXPECT_EQ(plan::hardware_flops(attention(10, 100, true)), 4 * 950);
  EXPECT_EQ(plan::hardware_flops(attention(100, 10, true)), 4 * 50);  // the first 90 queries see nothing
}
TEST(HardwareFlops, AWindowCountsWhatItSees) {
  EXPECT_EQ(plan::hardware_flops(attention(100, 100, false, 10)), 4 * 1000);
  EXPECT_EQ(plan::hardware_flops(attention(100, 100, true, 10)), 4 * (1000 - 50));
  EXPECT_EQ(plan::hardware_flops(attention(100, 100, true, 1000)), 20000);
}
TEST(HardwareFlops, BackwardCountsFiveMatmulsForTwo) {
  plan::Attention w = attention(100, 100, true);
  w.backward = true;
  EXPECT_EQ(plan::hardware_flops(w), 50000);
}
TEST(HardwareFlops, WhatOnlyMovesBytesHasNone) {
  EXPECT_EQ(plan::hardware_flops(plan::MemoryBound{.read = 5}), 0);
  EXPECT_EQ(plan::hardware_flops(plan::Collective{.bytes = 5, .group = {}}), 0);
}

}  // namespace
