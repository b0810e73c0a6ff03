// SPDX-License-Identifier: Apache-2.0
#include "core/plan/moved_bytes.h"

#include <gtest/gtest.h>

namespace {

using namespace plan;

TEST(MovedBytes, AMatmulReadsItsOperandsAndWritesItsResult) {
  // bf16: (2 x 4 + 4 x 3) operands and 2 x 3 results of 2 bytes; gradients in fp32 that are added to are read, too.
  Matmul matmul{.m = 2, .n = 3, .k = 4};
  EXPECT_EQ(moved_bytes(matmul), 2 * 20 + 2 * 6);
  matmul.out = spec::Dtype::fp32;
  matmul.accumulates = true;
  EXPECT_EQ(moved_bytes(matmul), 2 * 20 + 2 * 4 * 6);
  matmul.batch = 5;
  EXPECT_EQ(moved_bytes(matmul), 5 * (2 * 20 + 2 * 4 * 6));
}

TEST(MovedBytes, AttentionReadsQueriesKeysAndValuesAndWritesItsOutput) {
  // One sequence of 10 tokens, 4 heads of 8 that share 2 of keys and values: 10 x 4 x 16 and 10 x 2 x 16 numbers.
  Attention attention{.batch = 1, .q_len = 10, .kv_len = 10, .heads = 4, .kv_heads = 2, .head_dim = 8};
  EXPECT_EQ(moved_bytes(attention), 2 * (640 + 320));
  attention.backward = true;  // and as many gradients
  EXPECT_EQ(moved_bytes(attention), 2 * 2 * (640 + 320));
}

TEST(MovedBytes, CommunicationCountsItsPayload) {
  EXPECT_EQ(moved_bytes(Collective{.bytes = 100, .group = {.size = 8}}), 100);
  EXPECT_EQ(moved_bytes(Transfer{.bytes = 7}), 7);
  EXPECT_EQ(moved_bytes(MemoryBound{.read = 3, .written = 4}), 7);
}

TEST(MovedBytes, WaitingMovesNothing) { EXPECT_EQ(moved_bytes(HostSync{}), -1); }

}  // namespace
