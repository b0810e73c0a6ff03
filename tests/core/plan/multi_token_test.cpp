// tests/core/plan/multi_token_test.cpp -- the toy (h = 256, V = 2048, s = 128, 4 layers) with modules behind its last
// layer.
// SPDX-License-Identifier: Apache-2.0
#include "core/plan/multi_token.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/plan/flops.h"
#include "core/spec/parameters.h"
#include "tests/core/plan/walk.h"

namespace {

using Kind = spec::Recompute::Kind;

spec::Job with_modules(int modules, const toy::Cut& cut) {
  return toy::job(cut, [=](spec::Job& j) {
    j.model.mtp = modules;
    j.model.causal = false;
  });
}

TEST(MultiToken, OneStageHoldsTheModelsParameters) {
  for (const int modules : {1, 2}) {
    const spec::Job j = with_modules(modules, {});
    EXPECT_EQ(walk::parameters(j, plan::build(j).roles[0]), spec::parameters(j.model).total());
  }
}

TEST(MultiToken, TheLastStageHoldsModulesAndACopyOfTheEmbedding) {
  // A module: projection 512 x 256, three norms of 2 x 256, one block; the copy: (2048 + 128 positions) x 256.
  const spec::Job with = with_modules(1, {.pp = 2}), without = with_modules(0, {.pp = 2});
  const plan::Plan p = plan::build(with), q = plan::build(without);
  const std::int64_t block = plan::layer_parameters(plan::Context(with), 3).total();
  EXPECT_EQ(walk::parameters(with, p.roles[1]) - walk::parameters(without, q.roles[1]),
            512 * 256 + 3 * 2 * 256 + block + (2048 + 128) * 256);
  EXPECT_EQ(walk::parameters(with, p.roles[0]), walk::parameters(without, q.roles[0]));
  // Its gradient, in fp32, is summed with the first stage's.
  EXPECT_EQ(walk::collective_bytes(p, p.roles[0], "copied embedding"), 2048 * 256 * 4);
  EXPECT_EQ(walk::collective_bytes(p, p.roles[1], "copied embedding"), 2048 * 256 * 4);
  EXPECT_EQ(walk::count(q, q.roles[1], "copied embedding"), 0);
}

TEST(MultiToken, AModuleCostsABlockAProjectionAndAHead) {
  // Forward: 24 s h h + 4 s s h of the block, 4 s h h of the projection, 2 s h V of the head; three times in a step.
  const double s = 128, h = 256, V = 2048;
  const double module = 24 * s * h * h + 4 * s * s * h + 4 * s * h * h + 2 * s * h * V;
  const spec::Job one = with_modules(1, {}), none = with_modules(0, {});
  EXPECT_DOUBLE_EQ(plan::model_flops(one) - plan::model_flops(none), 3 * module);
}

TEST(MultiToken, APlanRunsTheFlopsOfTheFormula) {
  for (const int tp : {1, 2}) {
    for (const int pp : {1, 2}) {
      for (const Kind kind : {Kind::none, Kind::selective, Kind::full}) {
        const spec::Job j = with_modules(
            2, {.tp = tp, .sp = tp > 1, .pp = pp, .recompute = {kind}, .attention = spec::AttentionKernel::unfused});
        EXPECT_DOUBLE_EQ(walk::flops(plan::build(j)), plan::hardware_flops(j)) << tp << pp;
      }
    }
  }
}

TEST(MultiToken, EveryMicrobatchHasALossMoreForEachModule) {
  const spec::Job j = with_modules(2, {.pp = 2, .microbatches = 3});
  const plan::Plan p = plan::build(j);
  EXPECT_EQ(walk::count(p, p.roles[1], "loss gradient"), 3 * 3);
  EXPECT_EQ(walk::count(p, p.roles[0], "loss gradient"), 0);
}

TEST(MultiToken, WhatAModuleTakesItGivesBack) {
  for (const int pp : {1, 2}) {
    const spec::Job j = with_modules(2, {.pp = pp, .microbatches = 2});
    const plan::Plan p = plan::build(j);
    for (const plan::Role& role : p.roles) {
      std::int64_t sum = 0;
      for (const plan::Call& call : role.calls) {
        for (const plan::MemoryChange& change : p.segments[call.segment].memory) sum += change.bytes;
      }
      EXPECT_EQ(sum, 0);
    }
  }
}

/// 4 layers of one part, two experts' layers among them; a module attends and then visits experts.
spec::Job with_patterned(int modules, bool repeated, const toy::Cut& cut) {
  return toy::job(cut, [=](spec::Job& j) {
    j.model.moe = spec::Moe{.experts = 8, .top_k = 2, .ffn = 512};
    j.model.bias = false;
    j.model.pattern = "E*-E";
    j.model.causal = false;
    j.model.mtp = modules;
    j.model.mtp_pattern = modules > 0 ? "*E" : "";
    j.model.mtp_repeated = repeated;
  });
}

TEST(MultiTokenPattern, AModuleRunsItsLettersInOrder) {
  const plan::Plan p = plan::build(with_patterned(1, false, {}));
  std::vector<std::pair<int, std::string>> found;  // layers, counted on behind the model's four
  walk::operators(p, p.roles[0], [&](const plan::Call&, const plan::Operator& op) {
    const std::string& name = p.names[op.name];
    if (op.layer < 4 || (name != "qkv" && name != "router")) return;
    if (op.phase == plan::Phase::forward) found.emplace_back(op.layer, name);
  });
  ASSERT_GE(found.size(), 2U);
  EXPECT_EQ(found[0], (std::pair<int, std::string>{4, "qkv"}));
  EXPECT_EQ(found[1], (std::pair<int, std::string>{5, "router"}));
}

TEST(MultiTokenPattern, CostsItsLayersAProjectionAndAHead) {
  // Forward: attention 8 s h h + 4 s s h; experts 2 x 4 s h 512 and their router 2 s h 8; projection; head.
  const double s = 128, h = 256, V = 2048;
  const double module = 8 * s * h * h + 4 * s * s * h + 8 * s * h * 512 + 16 * s * h + 4 * s * h * h + 2 * s * h * V;
  EXPECT_DOUBLE_EQ(plan::model_flops(with_patterned(1, false, {})) - plan::model_flops(with_patterned(0, false, {})),
                   3 * module);
}

TEST(MultiTokenPattern, RepeatedModulesHaveOneSetOfWeightsAndAllTheWork) {
  const spec::Job two = with_patterned(2, false, {}), again = with_patterned(2, true, {}),
                  one = with_patterned(1, false, {});
  EXPECT_EQ(spec::parameters(again.model).total(), spec::parameters(one.model).total());
  EXPECT_EQ(walk::flops(plan::build(again)), walk::flops(plan::build(two)));
}

TEST(MultiTokenPattern, OneStageHoldsTheModelsParameters) {
  for (const bool repeated : {false, true}) {
    const spec::Job j = with_patterned(2, repeated, {});
    EXPECT_EQ(walk::parameters(j, plan::build(j).roles[0]), spec::parameters(j.model).total()) << repeated;
  }
}

TEST(MultiTokenPattern, APlanRunsTheFlopsOfTheFormula) {
  for (const int tp : {1, 2}) {
    for (const int pp : {1, 2}) {
      for (const Kind kind : {Kind::none, Kind::selective, Kind::full}) {
        const spec::Job j = with_patterned(
            2, false,
            {.tp = tp, .sp = tp > 1, .pp = pp, .recompute = {kind}, .attention = spec::AttentionKernel::unfused});
        EXPECT_NEAR(walk::flops(plan::build(j)) / plan::hardware_flops(j), 1, 1e-12) << tp << pp;
      }
    }
  }
}

TEST(MultiTokenPattern, ModulesOfRecomputationAreThoseOfDenseLayersAlone) {
  // Checkpoints that stop spare the last matmul of each dense feed-forward that is run again, a module's too.
  for (const bool stops : {false, true}) {
    spec::Job j =
        with_patterned(2, false, {.recompute = {Kind::selective}, .attention = spec::AttentionKernel::unfused});
    j.model.pattern = "-*-E";
    j.model.mtp_pattern = "*-";
    j.strategy.recompute.modules = {.core_attn = false, .mlp = true};
    j.framework.stops_recompute = stops;
    EXPECT_NEAR(walk::flops(plan::build(j)) / plan::hardware_flops(j), 1, 1e-12) << stops;
  }
}

}  // namespace
