// tests/core/plan/flops_test.cpp -- FLOPs of a step: Narayanan's formula, and the sum over the works that a Plan runs.
// SPDX-License-Identifier: Apache-2.0
#include "core/plan/flops.h"

#include <gtest/gtest.h>

#include "core/spec/packing.h"
#include "tests/core/plan/walk.h"

namespace {

using Kind = spec::Recompute::Kind;

const auto not_causal = [](spec::Job& j) { j.model.causal = false; };

struct Letters {  // of Narayanan et al., SC'21
  double B, s, L, h, V;
};

Letters letters(const spec::Job& j) {
  return {static_cast<double>(j.training.global_batch), static_cast<double>(j.training.sequence),
          static_cast<double>(j.model.layers), static_cast<double>(j.model.hidden), static_cast<double>(j.model.vocab)};
}

TEST(Flops, WithoutMaskAreThoseOfNarayanansFormula) {
  const spec::Job j = toy::job({.dp = 2, .microbatches = 3}, not_causal);
  const auto [B, s, L, h, V] = letters(j);
  const double expected = 72 * B * s * L * h * h * (1 + s / (6 * h) + V / (12 * h * L));
  EXPECT_DOUBLE_EQ(plan::model_flops(j), expected);
  EXPECT_DOUBLE_EQ(plan::hardware_flops(j), expected);
}

TEST(Flops, WithFullRecomputeAreThoseOfNarayanansFormula) {
  const spec::Job j = toy::job({.microbatches = 3, .recompute = {Kind::full}}, not_causal);
  const auto [B, s, L, h, V] = letters(j);
  EXPECT_DOUBLE_EQ(plan::hardware_flops(j), 96 * B * s * L * h * h * (1 + s / (6 * h) + V / (16 * h * L)));
  EXPECT_DOUBLE_EQ(plan::model_flops(j), 72 * B * s * L * h * h * (1 + s / (6 * h) + V / (12 * h * L)));
}

TEST(Flops, SelectiveRecomputeAddsOneForwardOfTheAttentionCore) {
  const spec::Job j = toy::job({.recompute = {Kind::selective}}, not_causal);
  const auto [B, s, L, h, V] = letters(j);
  EXPECT_DOUBLE_EQ(plan::hardware_flops(j) - plan::model_flops(j),
                   4 * B * s * s * h * L);  // scores and values, 2 s s h each
}

TEST(Flops, RecomputeOfSomeLayersAddsTheirForwardOnEveryStage) {
  // 4 layers on 2 stages, one recomputed on each: half of what recomputing all adds.
  const spec::Job half = toy::job({.pp = 2, .recompute = {Kind::full, 1}}),
                  all = toy::job({.pp = 2, .recompute = {Kind::full}});
  const double model = plan::model_flops(all);
  EXPECT_DOUBLE_EQ(plan::hardware_flops(half) - model, (plan::hardware_flops(all) - model) / 2);
}

TEST(Flops, RecomputeOfSomeLayersIsCountedStageByStage) {
  // Stages of 1 and 3 layers, the first two of each again: 1 + 2 of 4.
  const auto uneven = [](spec::Job& j) {
    j.model.causal = false;
    j.strategy.attention_kernel = spec::AttentionKernel::unfused;
    j.strategy.stage_layers = {1, 3};
  };
  const spec::Job some = toy::job({.pp = 2, .microbatches = 2, .recompute = {Kind::full, 2}}, uneven),
                  all = toy::job({.pp = 2, .microbatches = 2, .recompute = {Kind::full}}, uneven);
  const double model = plan::model_flops(all);
  EXPECT_DOUBLE_EQ(plan::hardware_flops(some) - model, (plan::hardware_flops(all) - model) * 3 / 4);
  EXPECT_DOUBLE_EQ(walk::flops(plan::build(some)), plan::hardware_flops(some));
}

TEST(Flops, OfLayersOfTwoKindsThoseThatAreRecomputedCount) {
  // h = 256, ffn = 1024, s = 128, no mask. A forward of a layer: 2 s 4 h h of the attention's linears and 4 s s h of
  // its core; a dense feed-forward's two matrices 2 s 2 h ffn; of experts the two visited 2 s 2 h 2 x 256, the router 2
  // s 8 h.
  const double s = 128, h = 256, attention = 2 * s * 4 * h * h + 4 * s * s * h;
  const double dense = attention + 2 * s * 2 * h * 1024, experts = attention + 2 * s * (2 * h * 2 * 256 + 8 * h);
  const auto again = [](int pp, int layers) {
    const auto of_experts = [](spec::Job& j) {
      j.model.causal = false;
      j.model.moe = spec::Moe{.experts = 8, .top_k = 2, .ffn = 256, .first_dense = 1};
      j.strategy.attention_kernel = spec::AttentionKernel::unfused;
    };
    const spec::Job some = toy::job({.pp = pp, .microbatches = 3, .recompute = {Kind::full, layers}}, of_experts),
                    none = toy::job({.pp = pp, .microbatches = 3}, of_experts);
    const double more = plan::hardware_flops(some) - plan::hardware_flops(none);
    EXPECT_DOUBLE_EQ(more, walk::flops(plan::build(some)) - walk::flops(plan::build(none))) << pp << ' ' << layers;
    return more / 3;  // microbatches of one sequence
  };
  // Layer 0 is dense, 1 to 3 have experts.
  EXPECT_DOUBLE_EQ(again(1, 1), dense);
  EXPECT_DOUBLE_EQ(again(1, 2), dense + experts);
  EXPECT_DOUBLE_EQ(again(2, 1), dense + experts);  // layers 0 and 2
  EXPECT_DOUBLE_EQ(again(1, 4), dense + 3 * experts);
}

TEST(Flops, OfLayersWithAndWithoutAWindowThoseThatAreRecomputedCount) {
  // Windows of 32 in every second layer, from the first on: 128 x 32 - 32^2/2 = 3584 pairs instead of 128^2/2 = 8192.
  const auto windows = [](spec::Job& j) {
    j.model.window = 32;
    j.model.window_every = 2;
  };
  const spec::Job one = toy::job({.recompute = {Kind::full, 1}}, windows);
  ASSERT_NE(one.model.limited_in(0), one.model.limited_in(1));
  const double h = 256, s = 128, pairs = one.model.limited_in(0) ? 3584 : 8192;
  EXPECT_DOUBLE_EQ(plan::hardware_flops(one) - plan::model_flops(one), 24 * s * h * h + 4 * h * pairs);
}

TEST(Flops, RecomputeThatStopsEarlyLeavesOutTheLastMatmulOfEachLayer) {
  const auto stop = [](spec::Job& j) {
    j.framework.stops_recompute = true;
    j.model.causal = false;
    j.strategy.attention_kernel = spec::AttentionKernel::unfused;
  };
  const spec::Job whole = toy::job({.recompute = {Kind::full}}, not_causal),
                  early = toy::job({.recompute = {Kind::full}}, stop);
  const auto [B, s, L, h, V] = letters(whole);
  EXPECT_DOUBLE_EQ(plan::hardware_flops(whole) - plan::hardware_flops(early), L * 2 * B * s * 4 * h * h);
  EXPECT_DOUBLE_EQ(walk::flops(plan::build(early)), plan::hardware_flops(early));
}

TEST(Flops, CausalAttentionCountsHalf) {
  const spec::Job causal = toy::job(), whole = toy::job({}, not_causal);
  EXPECT_DOUBLE_EQ(2 * plan::forward_flops(causal.model, 128).attention,
                   plan::forward_flops(whole.model, 128).attention);
  EXPECT_DOUBLE_EQ(plan::forward_flops(causal.model, 128).linear, plan::forward_flops(whole.model, 128).linear);
}

TEST(Flops, AWindowCountsItsBandAndAsWideAsTheSequenceNothingLess) {
  spec::Model m = toy::model();
  const double causal = plan::forward_flops(m, 128).attention;
  m.window = 128;
  EXPECT_DOUBLE_EQ(plan::forward_flops(m, 128).attention, causal);
  // 32 of 128: 128 x 32 pairs less the triangle 32^2/2 that the first queries do not have = 3584, against 8192.
  m.window = 32;
  EXPECT_DOUBLE_EQ(plan::forward_flops(m, 128).attention, causal * 3584 / 8192);
  m.window_every = 2;  // every second layer only
  EXPECT_DOUBLE_EQ(plan::forward_flops(m, 128).attention, causal * (3584 + 8192) / 2 / 8192);
}

TEST(Flops, OfALlamaBlockCountThreeFeedForwardMatricesAndNarrowKeys) {
  // h = 8, q = 8, kv = 2, ffn = 24, s = 4: 2 s (h (q + 2 kv) + q h + 3 h ffn) = 8 (96 + 64 + 576) = 5888.
  spec::Model m;
  m.layers = 1;
  m.hidden = 8;
  m.heads = 4;
  m.kv_heads = 1;
  m.head_dim = 2;
  m.ffn = 24;
  m.gated_mlp = true;
  m.vocab = 10;
  m.causal = false;
  const plan::ForwardFlops f = plan::forward_flops(m, 4);
  EXPECT_DOUBLE_EQ(f.linear, 5888);
  EXPECT_DOUBLE_EQ(f.attention, 4.0 * 4 * 4 * 8);  // 2 s s q twice: keys shared by heads save no multiplication
  EXPECT_DOUBLE_EQ(f.head, 2.0 * 4 * 8 * 10);
}

TEST(Flops, RoomAtTheExpertsDropsTokensOrIsMultipliedEmpty) {
  // 2 layers of 4 experts, 2 a token: 3 matrices of 32 x 24 for each visit of the 2 x 16 tokens.
  spec::Job job;
  job.model.layers = 2;
  job.model.hidden = 32;
  job.model.heads = job.model.kv_heads = 2;
  job.model.head_dim = 16;
  job.model.gated_mlp = true;
  job.model.vocab = 64;
  job.model.moe = spec::Moe{.experts = 4, .top_k = 2, .ffn = 24};
  job.training.sequence = 16;
  job.training.global_batch = 2;
  const double even = plan::model_flops(job), routed = 3.0 * 2 * 2 * (2 * 16 * 2) * (3 * 32 * 24);
  job.strategy.moe_capacity_factor = 0.25;
  EXPECT_DOUBLE_EQ(plan::model_flops(job), even - 0.75 * routed);
  EXPECT_DOUBLE_EQ(plan::hardware_flops(job), even - 0.75 * routed);
  job.strategy.moe_capacity_factor = 1.5;
  EXPECT_DOUBLE_EQ(plan::model_flops(job), even);
  EXPECT_DOUBLE_EQ(plan::hardware_flops(job), even + 0.5 * routed);
  // Run again, the rows are as many: one pass of the three more, over what it takes without a capacity.
  const auto again = [&] {
    spec::Job with = job;
    with.strategy.recompute = {.kind = spec::Recompute::Kind::selective, .modules = {.core_attn = false, .moe = true}};
    return plan::hardware_flops(with) - plan::hardware_flops(job);
  };
  const double with_room = again();
  job.strategy.moe_capacity_factor = {};
  EXPECT_DOUBLE_EQ(with_room, again() + 0.5 * routed / 3);
  // All tokens at one of the four: at 1.5 times an even share it has room for 3/8 of the choices.
  job.strategy.moe_capacity_factor = 1.5;
  job.strategy.moe_routing = {1, 0, 0, 0};
  EXPECT_DOUBLE_EQ(plan::model_flops(job), even - 0.625 * routed);
  EXPECT_DOUBLE_EQ(plan::hardware_flops(job), even + 0.5 * routed);
  job.strategy.moe_routing = {};
  job.strategy.moe_pad_to_capacity = false;
  EXPECT_DOUBLE_EQ(plan::hardware_flops(job), even);
  job.strategy.moe_capacity_factor = 0.25;
  EXPECT_DOUBLE_EQ(plan::hardware_flops(job), even - 0.75 * routed);
  // Frozen weights have no gradient, and what serves has no backward: 2 passes and 1 of the 3.
  const auto dropped = [&] {
    spec::Job all = job;
    all.strategy.moe_capacity_factor = {};
    return plan::model_flops(all) - plan::model_flops(job);
  };
  job.training.mode = spec::Mode::prefill;
  EXPECT_DOUBLE_EQ(dropped(), 0.75 * routed / 3);
  job.training.mode = spec::Mode::decode;  // one token of the 16, of 8 sequences at once: 16 copies for 4 experts
  job.training.micro_batch = 8;
  EXPECT_DOUBLE_EQ(dropped(), 0.75 * routed / 3 / 16);
  job.training.mode = spec::Mode::train;
  job.strategy.lora.emplace();
  EXPECT_DOUBLE_EQ(dropped(), 0.75 * routed * 2 / 3);
}

TEST(Flops, DocumentsOfAPackedSequenceAreTheTrainings) {
  spec::Job job = toy::job({});
  job.training.packing.emplace().lengths = {16};
  const double packed = plan::model_flops(job);
  job.training.packing.reset();
  EXPECT_LT(packed, plan::model_flops(job));
  job.training.mode = spec::Mode::prefill;
  const double served = plan::model_flops(job);
  const std::size_t works = plan::build(job).works.size();
  job.training.packing.emplace().lengths = {16};
  EXPECT_EQ(plan::model_flops(job), served);
  EXPECT_EQ(plan::build(job).works.size(), works);
  EXPECT_EQ(spec::document_length(job.training), 0);
}

TEST(Flops, OfAllWorksInThePlanAreTheFormulaForUnfusedAttentionWithoutMask) {
  // Counts stay below 2^53, so the sums are exact. Kinds of recompute, ways to cut a matmul and to order stages at
  // random.
  walk::Dice dice(77);
  for (int i = 0; i < 300; ++i) {
    spec::Job j = walk::random_job(dice);
    j.model.causal = false;
    j.model.window = 0;
    j.model.kv_heads = dice.of({8, 4});  // fewer than ranks are replicated and computed twice
    j.strategy.attention_kernel = spec::AttentionKernel::unfused;
    if (j.strategy.recompute.kind == Kind::full) j.strategy.recompute.layers = 0;
    const plan::Plan p = plan::build(j);
    EXPECT_EQ(walk::flops(p), plan::hardware_flops(j)) << walk::told(j);
    EXPECT_EQ(p.hardware_flops, plan::hardware_flops(j));
    EXPECT_EQ(p.model_flops, plan::model_flops(j));
  }
}

TEST(Flops, OfSomeLayersRecomputedOnEvenStagesAreThoseOfThePlan) {
  const spec::Job j =
      toy::job({.pp = 2, .microbatches = 3, .recompute = {Kind::full, 1}, .attention = spec::AttentionKernel::unfused},
               not_causal);
  EXPECT_EQ(walk::flops(plan::build(j)), plan::hardware_flops(j));
}

TEST(Flops, OfFusedAttentionInThePlanAreMoreByTheScoresThatItsBackwardComputesAgain) {
  // Five matmuls in the backward where the formula counts four: half of a forward of attention for each layer and
  // sequence.
  const spec::Job j = toy::job({.tp = 2, .pp = 2, .dp = 2, .microbatches = 3});
  const double attention = plan::forward_flops(j.model, j.training.sequence).attention;
  const double again = static_cast<double>(j.training.global_batch) * j.model.layers * attention / 2;
  EXPECT_EQ(walk::flops(plan::build(j)), plan::hardware_flops(j) + again);
}

TEST(Flops, OfUnfusedAttentionIgnoreTheMaskThatTheFormulaHalves) {
  // Unfused kernels multiply the whole square and mask it afterwards, so the plan's attention is twice the formula's.
  const spec::Job j = toy::job({.attention = spec::AttentionKernel::unfused});
  const double attention = plan::forward_flops(j.model, j.training.sequence).attention;
  EXPECT_EQ(walk::flops(plan::build(j)), plan::model_flops(j) + 3 * j.model.layers * attention);
}

TEST(Flops, OfAttentionInThePlanFollowMaskAndWindow) {
  for (const bool causal : {false, true}) {
    const spec::Job j = toy::job({}, [&](spec::Job& job) {
      job.model.causal = causal;
      job.model.window = 32;
      job.model.window_every = 2;
    });
    double forward = 0;
    const plan::Plan p = plan::build(j);
    walk::operators(p, p.roles[0], [&](const plan::Call&, const plan::Operator& op) {
      const auto* work = std::get_if<plan::Attention>(&p.works[op.work]);
      if (work && !work->backward) forward += plan::hardware_flops(*work);
    });
    EXPECT_EQ(forward, j.model.layers * plan::forward_flops(j.model, 128).attention) << "causal " << causal;
  }
}

}  // namespace
