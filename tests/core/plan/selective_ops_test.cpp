// tests/core/plan/selective_ops_test.cpp -- every second matmul again: what is kept and what is computed.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/plan/block.h"
#include "core/plan/flops.h"
#include "core/plan/moe.h"
#include "tests/core/plan/walk.h"

namespace {

using Kind = spec::Recompute::Kind;

/// Gated, 8 heads of 32 and 2 kv_heads: the matmuls of a Llama's block.
spec::Job llama(toy::Cut cut, bool compiled = false) {
  return toy::job(cut, [&](spec::Job& j) {
    j.model.gated_mlp = true;
    j.model.kv_heads = 2;
    j.model.norm = spec::Norm::rmsnorm;
    j.model.position = spec::Position::rope;
    j.model.bias = false;
    j.strategy.compile = compiled;
  });
}

std::int64_t kept(const spec::Job& j) { return plan::kept_activations(plan::Context(j), Kind::selective_ops).total(); }

TEST(SelectiveOps, ComputeKeysOutputAndUpAgain) {
  // 2 s h (kv + q + ffn) = 2 x 128 x 256 (64 + 256 + 1024) = 88080384.
  const spec::Job j = llama({.recompute = {Kind::selective_ops}});
  const plan::Context c(j);
  walk::Pen pen;
  plan::Block(c, pen.out).backward(Kind::selective_ops, false);
  EXPECT_EQ(walk::flops(pen.plan, pen.out.finish(), plan::Phase::recompute), 88080384);
  EXPECT_DOUBLE_EQ(plan::hardware_flops(j) - plan::model_flops(j), 4 * 88080384.0);
}

TEST(SelectiveOps, OfAnUngatedBlockComputeKeysAndOutputAgain) {
  // The sixth matmul, down, would be next, but nothing needs its result: 2 x 128 x 256 (256 + 256) = 33554432.
  const spec::Job j = toy::job({.recompute = {Kind::selective_ops}});
  const plan::Context c(j);
  walk::Pen pen;
  plan::Block(c, pen.out).backward(Kind::selective_ops, false);
  EXPECT_EQ(walk::flops(pen.plan, pen.out.finish(), plan::Phase::recompute), 33554432);
  EXPECT_DOUBLE_EQ(plan::hardware_flops(j) - plan::model_flops(j), 4 * 33554432.0);
}

TEST(SelectiveOps, KeepEveryOddMatmulAndTheAttention) {
  // Elements a token: input 256, q 256, v 64, attention 256, gate 1024, down 256; 2 bytes; 8 heads' fp32 statistics.
  EXPECT_EQ(kept(llama({})), 128 * ((256 + 256 + 64 + 256 + 1024 + 256) * 2 + 8 * 4));
  // A compiler drops the last matmul's result, which no backward reads.
  EXPECT_EQ(kept(llama({}, true)), 128 * ((256 + 256 + 64 + 256 + 1024) * 2 + 8 * 4));
}

TEST(SelectiveOps, UnderSequenceParallelKeepWhatWasScattered) {
  // tp 2: input and the attention's reduce-scatter on half of the tokens, the rest of half the width.
  EXPECT_EQ(kept(llama({.tp = 2, .sp = true}, true)), 128 * ((128 + 128 + 128 + 32 + 128 + 512) * 2 + 4 * 4));
}

/// Narrow vectors of 48 (queries) and 32 (keys and values), 8 heads of 16 + 8 for queries and keys and 40 for values.
void latent(spec::Job& j) {
  j.model.mla = spec::Mla{48, 32, 8, 16, 40};
  j.model.head_dim = 24;
  j.model.kv_heads = 8;
}

TEST(SelectiveOps, OfLatentAttentionKeepProjectionsDownAndComputeThoseUpAgain) {
  // Query down (kept), query up, key and value down (kept), up; output (kept), gate, up (kept), down.
  spec::Job j = llama({.recompute = {Kind::selective_ops}});
  latent(j);
  const plan::Context c(j);
  walk::Pen pen;
  plan::Block(c, pen.out).backward(Kind::selective_ops, false);
  const double flops = 2.0 * 128 * (48 * 8 * 24 + 32 * 8 * 56 + 256 * 1024);
  EXPECT_EQ(walk::flops(pen.plan, pen.out.finish(), plan::Phase::recompute), flops);
  EXPECT_DOUBLE_EQ(plan::hardware_flops(j) - plan::model_flops(j), 4 * flops);
  // Elements a token: input 256, query down 48, key and value down 32 + 8, output 256, up 1024; attention 8 x 40.
  // Nothing is unread: the projection down is computed again.
  EXPECT_EQ(kept(j), 128 * ((256 + 48 + 40 + 256 + 1024 + 320) * 2 + 8 * 4));
}

TEST(SelectiveOps, OfLatentAttentionKeepWhatTheKernelMade) {
  // Values of 16 beside queries of 24: flash2 pads them, and its output is cut again; over ranks of cp nothing is.
  for (const int cp : {1, 2}) {
    spec::Job j = llama({.attention = spec::AttentionKernel::flash2}, true);
    latent(j);
    j.model.mla->value_head_dim = 16;
    j.strategy.cp = cp;
    j.cluster = toy::cluster(cp);
    const plan::Context c(j);
    const plan::BlockActivations keeps = plan::kept_activations(c, Kind::selective_ops);
    EXPECT_EQ(keeps.context, c.tokens * 8 * (cp == 1 ? 24 : 16) * 2);
    walk::Pen pen;
    plan::Block(c, pen.out).backward(Kind::selective_ops, false);
    int cuts = 0;
    for (const plan::Operator& op : pen.out.finish().operators) cuts += pen.name(op) == "attention output cut";
    EXPECT_EQ(cuts, cp == 1 ? 1 : 0);
  }
}

TEST(SelectiveOps, GatherAgainWhatTheFrameworkKeepsGathered) {
  // Of whole queries and the projections up from narrow vectors, kept both, torchtitan has gathered the inputs.
  for (const bool keeps : {false, true}) {
    spec::Job j = llama({.tp = 2, .sp = true, .recompute = {Kind::selective_ops}});
    latent(j);
    j.model.mla->q_lora_rank = 0;
    j.framework.keeps_gathered = keeps;
    const plan::Context c(j);
    walk::Pen pen;
    plan::Block(c, pen.out).backward(Kind::selective_ops, false);
    int queries = 0, heads = 0;
    for (const plan::Operator& op : pen.out.finish().operators) {
      queries += op.phase == plan::Phase::recompute && pen.name(op) == "query all-gather";
      heads += op.phase == plan::Phase::recompute && pen.name(op) == "key and value up all-gather";
    }
    EXPECT_EQ(queries, keeps ? 1 : 0);
    EXPECT_EQ(heads, keeps ? 1 : 0);
  }
}

TEST(SelectiveOps, WithWholeQueriesTheCountIsThatOfALlama) {
  // Query (kept), key and value down, up (kept), output, gate (kept), up, down (kept, unread).
  spec::Job j = llama({});
  latent(j);
  j.model.mla->q_lora_rank = 0;
  EXPECT_EQ(kept(j), 128 * ((256 + 192 + 8 * 56 + 1024 + 320 + 256) * 2 + 8 * 4));
}

/// 8 experts of 512, 2 a token, beside a shared one of 128, on `ep` ranks.
spec::Job experts(int ep, bool compiled = false) {
  spec::Job j = llama({.dp = ep, .recompute = {Kind::selective_ops}}, compiled);
  j.model.moe = spec::Moe{.experts = 8, .top_k = 2, .ffn = 512, .shared_experts = 1, .shared_ffn = 128};
  j.strategy.ep = ep;
  return j;
}

std::int64_t kept_with_experts(const spec::Job& j) {
  return plan::kept_activations(plan::Context(j), Kind::selective_ops,
                                spec::LayerParts{.feed_forward = spec::FeedForward::experts})
      .total();
}

TEST(SelectiveOps, ComputeTheRouterAndTheExpertsAgain) {
  // Keys 64 and output 256 wide, the shared expert's up 128; router 8; two experts' gate and up, 2 x 1024, and down, 2
  // x 512, in front of the shared one: a compiler leaves that out, for nothing reads it.
  for (const bool compiled : {false, true}) {
    const spec::Job j = experts(1, compiled);
    const plan::Context c(j);
    walk::Pen pen;
    pen.out.layer = 0;
    plan::Block(c, pen.out).backward(Kind::selective_ops, false);
    const double flops = 2.0 * 128 * 256 * (64 + 256 + 128 + 8 + 2 * (compiled ? 1024 : 1536));
    EXPECT_EQ(walk::flops(pen.plan, pen.out.finish(), plan::Phase::recompute), flops);
    EXPECT_DOUBLE_EQ(plan::hardware_flops(j) - plan::model_flops(j), 4 * flops);
  }
}

TEST(SelectiveOps, KeepWhatExchangesBroughtButForGathers) {
  // As of a Llama, but for the shared expert's gate 128 wide. On one rank nothing is exchanged; on two 256 copies come
  // to the experts and, of no use to a backward, as many back.
  const std::int64_t alone = 128 * ((256 + 256 + 64 + 256 + 128) * 2 + 8 * 4), token = 256 * 2, shared = 128 * token;
  EXPECT_EQ(kept_with_experts(experts(1, true)), alone);
  EXPECT_EQ(kept_with_experts(experts(1)), alone + shared);
  EXPECT_EQ(kept_with_experts(experts(2, true)), alone + 256 * token);
  EXPECT_EQ(kept_with_experts(experts(2)), alone + 256 * token + 256 * token + shared);
  const auto by = [](spec::MoeDispatcher way, bool compiled) {
    spec::Job j = experts(2, compiled);
    j.strategy.moe_dispatcher = way;
    return kept_with_experts(j);
  };
  // Gathered tokens are gathered again; their sums came by a reduce-scatter, which is kept.
  EXPECT_EQ(by(spec::MoeDispatcher::allgather, true), alone);
  EXPECT_EQ(by(spec::MoeDispatcher::allgather, false), alone + 128 * token + shared);
  // Two of eight experts, four a rank: a token visits a rank with 1 - 4/8 x 3/7 = 11/14, in all 11/7 x 128 = 201 rows;
  // one sum of each token comes back.
  EXPECT_EQ(by(spec::MoeDispatcher::deepep, true), alone + 201 * token);
  EXPECT_EQ(by(spec::MoeDispatcher::deepep, false), alone + 201 * token + 128 * token + shared);
}

TEST(SelectiveOps, RunAgainWhatACompilerLeavesOutOfExperts) {
  // A compiler that has the blocks but not the experts: copies are made and down runs again, and what it kept unread of
  // experts stays (256 copies that came back, the shared expert's 128 sums), as it does under an eager framework.
  spec::Job j = experts(2, true);
  j.framework.compiles_experts = false;
  EXPECT_EQ(kept_with_experts(j), kept_with_experts(experts(2)));
  const auto again = [](const spec::Job& job) {
    walk::Pen pen;
    pen.out.layer = 0;
    plan::Block(plan::Context(job), pen.out).backward(Kind::selective_ops, false);
    return walk::flops(pen.plan, pen.out.finish(), plan::Phase::recompute);
  };
  EXPECT_EQ(again(j), again(experts(2)));
  EXPECT_LT(again(experts(2, true)), again(j));
}

TEST(SelectiveOps, KeepTheSumsOfExpertsThatRanksShare) {
  // etp 2 on two ranks: 256 copies' sums, which only an eager framework keeps.
  for (const bool compiled : {false, true}) {
    spec::Job j = experts(1, compiled), cut = j;
    cut.strategy.dp = 2;
    cut.cluster = toy::cluster(2);
    cut.strategy.etp = 2;
    EXPECT_EQ(kept_with_experts(cut) - kept_with_experts(j), compiled ? 0 : 256 * 256 * 2);
  }
}

TEST(SelectiveOps, ExchangeTokensOnceAndCountThemOnce) {
  // In each of 4 layers there and back, and the gradients; what is gathered is gathered once more.
  for (const auto& [dispatcher, again] : {std::pair{spec::MoeDispatcher::alltoall, 0},
                                          {spec::MoeDispatcher::deepep, 0},
                                          {spec::MoeDispatcher::allgather, 1}}) {
    spec::Job j = experts(2);
    j.strategy.moe_dispatcher = dispatcher;
    const plan::Plan p = plan::build(j);
    EXPECT_EQ(walk::count(p, p.roles[0], "expert dispatch"), 4 * (2 + again));
    EXPECT_EQ(walk::count(p, p.roles[0], "expert combine"), 4 * 2);
    EXPECT_EQ(walk::count(p, p.roles[0], "tokens by expert read"), 4);
  }
}

TEST(SelectiveOps, KeepLessThanEverythingAndMoreThanTheInput) {
  walk::Dice dice(41);
  for (int n = 0; n < 200; ++n) {
    spec::Job j = walk::random_job(dice);
    j.strategy.compile = true;
    const plan::Context c(j);
    EXPECT_LE(kept(j), plan::kept_activations(c, Kind::none).total()) << walk::told(j);
    EXPECT_GT(kept(j), plan::kept_activations(c, Kind::full).total()) << walk::told(j);
  }
  for (const auto way : {spec::MoeDispatcher::alltoall, spec::MoeDispatcher::allgather, spec::MoeDispatcher::deepep}) {
    for (const int ep : {1, 2, 8}) {
      spec::Job j = experts(ep);
      j.strategy.moe_dispatcher = way;
      const plan::Context c(j);
      const plan::BlockActivations keeps =
          plan::kept_activations(c, Kind::selective_ops, spec::LayerParts{.feed_forward = spec::FeedForward::experts});
      EXPECT_LT(
          keeps.total() - keeps.unread,
          plan::kept_activations(c, Kind::none, spec::LayerParts{.feed_forward = spec::FeedForward::experts}).total())
          << ep;
    }
  }
}

TEST(SelectiveOps, OfQwen3DoNotKeepWhatTheExchangeBrought) {
  // 4 ranks hold 2 of 8 experts each, a token goes to 2: 2 x 128 tokens of 256 numbers arrive, and as many come back.
  // Qwen3's code is told by the norms of its heads and the lack of shared experts.
  const auto exchanged = [](bool normed, std::int64_t shared) {
    const spec::Job j = toy::job({.dp = 4}, [&](spec::Job& job) {
      job.model.gated_mlp = true;
      job.model.bias = false;
      job.model.moe = spec::Moe{.experts = 8, .top_k = 2, .ffn = 512, .shared_ffn = shared};
      job.model.qk_norm = normed;
      job.strategy.ep = 4;
      job.strategy.moe_dispatcher = spec::MoeDispatcher::alltoall;
      job.strategy.compile = true;
    });
    const plan::Context c(j);
    const plan::KeptOfExperts kept = plan::kept_of_experts(c, plan::KeptMatmuls(c, true));
    EXPECT_TRUE(!normed || shared > 0 || kept.unread == 0);  // nor what it brought back
    return kept.read;
  };
  EXPECT_EQ(exchanged(false, 0), 2 * 128 * 256 * 2);
  EXPECT_EQ(exchanged(true, 0), 0);
  EXPECT_GT(exchanged(true, 512), 2 * 128 * 256 * 2 - 1);
}

}  // namespace
