// SPDX-License-Identifier: Apache-2.0
#include "core/plan/packed_heads.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/support/toy.h"

namespace {

using spec::AttentionKernel;

/// Elements a token before and behind attention. The toy's queries, keys and values are 256 wide each.
std::pair<std::int64_t, std::int64_t> copied(AttentionKernel kernel, std::int64_t micro_batch, bool rope,
                                             const std::function<void(spec::Job&)>& change = {}) {
  toy::Cut cut;
  cut.attention = kernel;
  cut.micro_batch = micro_batch;
  const spec::Job job = toy::job(cut, [&](spec::Job& j) {
    j.framework.attention_copies = true;
    if (rope) j.model.position = spec::Position::rope;
    if (change) change(j);
  });
  const plan::Context c(job);
  return {plan::copied_before_attention(c, c.model.ropes_in(0)), plan::copied_behind_attention(c, c.model.ropes_in(0))};
}

TEST(PackedHeads, FlashAttentionReadsPiecesWithoutGaps) {
  EXPECT_EQ(copied(AttentionKernel::flash2, 1, false), std::pair(768l, 768l));   // all three; their gradients joined
  EXPECT_EQ(copied(AttentionKernel::flash2, 1, true), std::pair(256l, 768l));    // rotation wrote queries and keys anew
  EXPECT_EQ(copied(AttentionKernel::flash2, 2, true), std::pair(1024l, 1024l));  // all three and the output are turned
}

TEST(PackedHeads, CudnnReadsThemWhereTheyLieUnlessTheyWereRotated) {
  EXPECT_EQ(copied(AttentionKernel::cudnn, 2, false), std::pair(0l, 0l));
  EXPECT_EQ(copied(AttentionKernel::cudnn, 2, true), std::pair(256l, 768l));
}

TEST(PackedHeads, GroupedQueriesAreMadeOnePiece) {
  // 2 of 8 heads have keys and values: 64 wide each, 384 all.
  const auto grouped = [](spec::Job& j) { j.model.kv_heads = 2; };
  EXPECT_EQ(copied(AttentionKernel::flash2, 1, true, grouped), std::pair(64l + 256l, 384l));
  EXPECT_EQ(copied(AttentionKernel::cudnn, 1, false, grouped), std::pair(256l, 384l));
}

TEST(PackedHeads, NothingIsCopiedWhereNothingIsPackedOrTheGraphIsCompiled) {
  using Change = std::function<void(spec::Job&)>;
  for (const Change& change : {Change([](spec::Job& j) { j.framework.attention_copies = false; }),
                               Change([](spec::Job& j) { j.framework.separate_linears = true; }),
                               Change([](spec::Job& j) { j.strategy.compile = true; })}) {
    EXPECT_EQ(copied(AttentionKernel::flash2, 2, true, change), std::pair(0l, 0l));
  }
  EXPECT_EQ(copied(AttentionKernel::unfused, 2, true), std::pair(0l, 0l));  // its transposes are operators of their own
}

}  // namespace
