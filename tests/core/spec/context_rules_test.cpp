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
  const auto ulysses = [](spec::Job& j) { j.strategy.cp_kind = CpKind::ulysses; };
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

TEST(ContextRules, AskForAFusedKernel) {
  EXPECT_EQ(refused(2, [](spec::Job& j) { j.strategy.attention_kernel = spec::AttentionKernel::unfused; }),
            "strategy.attention_kernel: context parallelism needs a kernel that does not write the scores, and unfused "
            "does");
}

TEST(ContextRules, AskForNothingWithoutIt) {
  EXPECT_EQ(refused(1, [](spec::Job& j) { j.strategy.attention_kernel = spec::AttentionKernel::unfused; }), "");
}

}  // namespace
