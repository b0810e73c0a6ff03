// tests/core/plan/recompute_modules_test.cpp -- Megatron Core's selective recomputation by module: what it spares and
// what it runs again. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "core/plan/block.h"
#include "core/plan/flops.h"
#include "tests/core/plan/walk.h"

namespace {

using Kind = spec::Recompute::Kind;
using Modules = spec::RecomputeModules;

/// One sequence of 128 tokens, hidden 256, 8 heads, bf16; gated experts of width 512 and latent attention on demand.
spec::Job job(Modules modules, bool latent = false, bool experts = false,
              spec::AttentionKernel attention = spec::AttentionKernel::flash2) {
  return toy::job({.recompute = {Kind::selective, 0, modules}, .attention = attention}, [&](spec::Job& j) {
    j.model.bias = false;
    j.model.causal = false;
    if (latent) {
      j.model.position = spec::Position::rope;
      j.model.mla = spec::Mla{48, 32, 8, 16, 40};
    }
    if (!experts) return;
    j.model.moe = spec::Moe{.experts = 8, .top_k = 2, .ffn = 512, .shared_experts = 1, .shared_ffn = 256};
    j.model.gated_mlp = true;
    j.model.activation = spec::Activation::swiglu;
  });
}

/// Bytes that a layer keeps less than one without recomputation.
std::int64_t spared(const spec::Job& j) {
  const plan::Context c(j);
  const spec::LayerParts parts = j.model.parts_in(0);
  return plan::kept_activations(c, Kind::none, parts).total() -
         plan::kept_activations(c, Kind::selective, parts).total();
}

TEST(RecomputeModules, ANormsResultIsSpared) {
  // Two norms, 128 x 256 in bf16 each.
  EXPECT_EQ(spared(job({.core_attn = false, .layernorm = true})), 2 * 128 * 256 * 2);
}

TEST(RecomputeModules, TheAttentionCoreKeepsItsScoresUnlessItIsNamed) {
  // The softmax of 8 heads, 128 x 128 in bf16.
  const auto unfused = spec::AttentionKernel::fused_softmax;
  EXPECT_EQ(spared(job({}, false, false, unfused)), 8 * 128 * 128 * 2);
  EXPECT_EQ(spared(job({.core_attn = false, .layernorm = true}, false, false, unfused)), 2 * 128 * 256 * 2);
}

TEST(RecomputeModules, ADenseFeedForwardKeepsNothingBesideItsInput) {
  // Input and result of the activation, 1024 wide.
  EXPECT_EQ(spared(job({.core_attn = false, .mlp = true})), 128 * (1024 + 1024) * 2);
}

TEST(RecomputeModules, UpProjectionsLeaveTheNarrowVectorsAlone) {
  // A token's narrow vectors behind their norms (48 + 32), queries and keys (8 x 24 each) and values (8 x 40) go; the 8
  // rotary numbers, which the keys held before, stay beside the narrow vectors.
  EXPECT_EQ(spared(job({.core_attn = false, .mla_up_proj = true}, true)), 128 * (80 + 2 * 192 + 320 - 8) * 2);
}

TEST(RecomputeModules, OfExpertsTheActivationTheSharedOnesOrAllAreSpared) {
  // 2 copies of 128 tokens: activations 512 wide. Shared: input 2 x 256, result 256.
  EXPECT_EQ(spared(job({.core_attn = false, .moe_act = true}, false, true)), 256 * 512 * 2);
  EXPECT_EQ(spared(job({.core_attn = false, .shared_experts = true}, false, true)), 128 * 3 * 256 * 2);
  const spec::Job all = job({.core_attn = false, .moe = true}, false, true);
  EXPECT_EQ(spared(all), plan::kept_activations(plan::Context(all), Kind::none,
                                                spec::LayerParts{.feed_forward = spec::FeedForward::experts})
                             .experts);
}

TEST(RecomputeModules, ActivationInputsInFp8TakeAByte) {
  // 256 rows of both halves, 1024, and 128 of the shared experts' 512, a byte less each.
  spec::Job j = job({.core_attn = false, .moe_act = true}, false, true);
  const std::int64_t wide = plan::kept_activations(plan::Context(j), Kind::selective,
                                                   spec::LayerParts{.feed_forward = spec::FeedForward::experts})
                                .total();
  j.training.fp8_activation_inputs = true;
  EXPECT_EQ(wide - plan::kept_activations(plan::Context(j), Kind::selective,
                                          spec::LayerParts{.feed_forward = spec::FeedForward::experts})
                       .total(),
            256 * 1024 + 128 * 512);
}

TEST(RecomputeModules, APlanRunsTheFlopsOfTheFormulaAndGivesBackWhatItTook) {
  const std::vector<Modules> some{{},
                                  {.core_attn = false, .layernorm = true},
                                  {.layernorm = true, .mla_up_proj = true, .moe_act = true},
                                  {.core_attn = false, .mla_up_proj = true, .shared_experts = true},
                                  {.core_attn = false, .moe = true}};
  for (const Modules& modules : some) {
    const spec::Job j = job(modules, true, true, spec::AttentionKernel::unfused);
    const plan::Plan p = plan::build(j);
    EXPECT_DOUBLE_EQ(walk::flops(p), plan::hardware_flops(j));
    std::int64_t left = 0;
    for (const plan::Call& call : p.roles[0].calls) {
      for (const plan::MemoryChange& change : p.segments[call.segment].memory) left += change.bytes;
    }
    EXPECT_EQ(left, 0);
  }
}

TEST(RecomputeModules, OfADenseModelTheFeedForwardRunsAgain) {
  // 4 layers of 2 matmuls, 2 x 128 x 256 x 1024 each.
  const spec::Job j = job({.core_attn = false, .mlp = true}, false, false, spec::AttentionKernel::unfused);
  EXPECT_DOUBLE_EQ(plan::hardware_flops(j) - plan::model_flops(j), 4.0 * 2 * 2 * 128 * 256 * 1024);
  EXPECT_DOUBLE_EQ(walk::flops(plan::build(j)), plan::hardware_flops(j));
}

TEST(RecomputeModules, TheFeedForwardEndsInFrontOfItsLastMatmulWhereNobodyReadsThat) {
  // As above without the second matmul of each layer; dropout behind it reads it.
  spec::Job j = job({.core_attn = false, .mlp = true}, false, false, spec::AttentionKernel::unfused);
  j.framework.stops_recompute = true;
  EXPECT_DOUBLE_EQ(plan::hardware_flops(j) - plan::model_flops(j), 4.0 * 1 * 2 * 128 * 256 * 1024);
  EXPECT_DOUBLE_EQ(walk::flops(plan::build(j)), plan::hardware_flops(j));
  j.training.dropout = 0.1;
  EXPECT_DOUBLE_EQ(plan::hardware_flops(j) - plan::model_flops(j), 4.0 * 2 * 2 * 128 * 256 * 1024);
  EXPECT_DOUBLE_EQ(walk::flops(plan::build(j)), plan::hardware_flops(j));
}

}  // namespace
