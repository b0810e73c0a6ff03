// tests/core/spec/context_rules_test.cpp -- what context parallelism asks for.
// SPDX-License-Identifier: Apache-2.0
#include "core/spec/context_rules.h"

#include <gtest/gtest.h>

#include "tests/support/toy.h"

namespace {

using spec::CpKind;

template <class Change>
std::string refused(int cp, Change change) {
  spec::Job j = toy::draft();
  j.strategy.cp = cp;
  j.cluster = toy::cluster(cp);
  change(j);
  const std::vector<base::Fault> faults = spec::context_faults(j);
  return faults.empty() ? "" : faults[0].field + ": " + faults[0].what;
}

TEST(ContextRules, AskForTwoChunksARankUnlessTheyAreNotBalanced) {
  // 128 tokens: 64 ranks have two chunks of one token each, 128 ranks have a token.
  EXPECT_EQ(refused(64, [](spec::Job&) {}), "");
  EXPECT_EQ(refused(128, [](spec::Job&) {}),
            "strategy.cp: 128 tokens of a sequence do not divide into 2 x cp = 256 chunks (cp_balance: zigzag)");
  EXPECT_EQ(refused(128, [](spec::Job& j) { j.strategy.cp_balance = spec::CpBalance::none; }), "");
  EXPECT_EQ(refused(128, [](spec::Job& j) { j.model.causal = false; }), "");
  EXPECT_EQ(refused(3, [](spec::Job& j) { j.model.causal = false; }),
            "strategy.cp: 128 tokens of a sequence do not divide into 3 parts");
}

TEST(ContextRules, AskForTokensThatSequenceParallelDivides) {
  const auto sequence_parallel = [](spec::Job& j) {
    j.strategy.tp = 4;
    j.strategy.sp = true;
  };
  EXPECT_EQ(refused(32, sequence_parallel), "");
  EXPECT_EQ(refused(64, sequence_parallel),
            "strategy.cp: 2 tokens of a context-parallel rank do not divide by tp 4 (sp: true)");
}

TEST(ContextRules, UlyssesAsksForHeads) {
  const auto ulysses = [](spec::Job& j) {
    j.strategy.cp_kind = CpKind::ulysses;
    j.framework.ulysses_heads = spec::UlyssesHeads::refused;  // as Transformer Engine asserts
  };
  EXPECT_EQ(refused(8, ulysses), "");
  EXPECT_EQ(refused(16, ulysses), "strategy.cp: 8 heads do not divide by tp 1 x cp 16, as cp_kind: ulysses needs");
  EXPECT_EQ(refused(4,
                    [&](spec::Job& j) {
                      ulysses(j);
                      j.model.heads = 12;
                      j.model.kv_heads = 3;
                    }),
            "strategy.cp: 3 kv_heads of a tensor-parallel rank can be neither divided nor copied over cp 4, as "
            "cp_kind: ulysses needs");
}

TEST(ContextRules, UlyssesDealsOutOrPadsHeadsThatDoNotDivideAsTheFrameworkDoes) {
  const auto heads = [](int count, spec::UlyssesHeads way) {
    return [=](spec::Job& j) {
      j.strategy.cp_kind = CpKind::ulysses;
      j.framework.ulysses_heads = way;
      j.model.heads = j.model.kv_heads = count;
    };
  };
  EXPECT_EQ(refused(16, heads(33, spec::UlyssesHeads::padded)), "");
  EXPECT_EQ(refused(16, heads(8, spec::UlyssesHeads::padded)), "");
  EXPECT_EQ(refused(16, heads(33, spec::UlyssesHeads::uneven)), "");
  EXPECT_EQ(refused(16, heads(15, spec::UlyssesHeads::uneven)),
            "strategy.cp: 15 heads of a tensor-parallel rank are not more than cp 16, as none needs to deal them out "
            "unevenly");
}

TEST(ContextRules, TheFullestRankOfUlyssesHasWholeGroupsOfHeads) {
  const auto share = [](int heads, int kv_heads, int cp) {
    spec::Job j = toy::draft();
    j.model.heads = heads;
    j.model.kv_heads = kv_heads;
    j.strategy.cp = cp;
    const spec::UlyssesShare s = spec::ulysses_share(j);
    return std::vector<int>{s.queries, s.keys, s.divides};
  };
  EXPECT_EQ(share(32, 8, 4), (std::vector<int>{8, 2, 1}));
  EXPECT_EQ(share(8, 1, 4), (std::vector<int>{2, 1, 1}));     // the one K and V head is copied
  EXPECT_EQ(share(33, 33, 16), (std::vector<int>{3, 3, 0}));  // 48 of which 15 are dummies
  EXPECT_EQ(share(12, 3, 4), (std::vector<int>{4, 1, 0}));    // three groups of four; a rank stays without
}

TEST(ContextRules, AskForAFusedKernel) {
  EXPECT_EQ(refused(2, [](spec::Job& j) { j.strategy.attention_kernel = spec::AttentionKernel::unfused; }),
            "strategy.attention_kernel: context parallelism needs a kernel that does not write the scores, and unfused "
            "does");
}

TEST(ContextRules, AskForNothingWithoutIt) {
  EXPECT_EQ(refused(1, [](spec::Job& j) { j.strategy.attention_kernel = spec::AttentionKernel::unfused; }), "");
}

TEST(ContextRules, ChunksOfAttentionAskForWholeSequences) {
  const auto chunk = [](std::int64_t tokens, CpKind kind) {
    return [=](spec::Job& j) {
      j.model.attention_chunk = tokens;
      j.strategy.cp_kind = kind;
    };
  };
  EXPECT_EQ(refused(2, chunk(64, CpKind::ring)),
            "strategy.cp_kind: chunks of attention (64 tokens) that context-parallel ranks cut are supported where "
            "each has whole sequences alone");
  EXPECT_NE(refused(2, chunk(64, CpKind::all_gather)), "");
  EXPECT_EQ(refused(2, chunk(64, CpKind::ulysses)), "");
  EXPECT_EQ(refused(2, chunk(128, CpKind::ring)), "");  // as long as the sequence
}

}  // namespace
