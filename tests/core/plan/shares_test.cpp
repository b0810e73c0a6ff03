// tests/core/plan/shares_test.cpp -- parameters of ranks, layers of chunks, shares of the optimizer.
// SPDX-License-Identifier: Apache-2.0
#include "core/plan/shares.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/spec/parameters.h"
#include "tests/core/plan/walk.h"

namespace {

using plan::Chunk;
using plan::Context;

/// Parameters of one tensor-parallel rank over all stages.
std::int64_t over_stages(const Context& c) {
  std::int64_t sum = 0;
  for (const std::vector<Chunk>& stage : plan::chunks_of(c)) {
    for (const Chunk& chunk : stage) sum += plan::chunk_parameters(c, chunk).total();
  }
  return sum;
}

TEST(Shares, OfAllStagesAreTheModelsParameters) {
  // With tied embeddings the last of several stages holds a second copy of the table.
  walk::Dice dice(31);
  for (int i = 0; i < 300; ++i) {
    spec::Job j = walk::random_job(dice);
    j.strategy.tp = 1;
    const std::int64_t copy = j.model.tied_embeddings && j.strategy.pp > 1 ? j.model.vocab * j.model.hidden : 0;
    EXPECT_EQ(over_stages(Context(j)), spec::parameters(j.model).total() + copy) << walk::told(j);
  }
}

TEST(Shares, OfTensorParallelRanksRepeatNormsAndTheBiasesBehindReductions) {
  // Each of t ranks holds 1/t of the matrices; beside that whole: two norms (4 h) and the biases of projection and
  // second feed-forward matmul (2 h) in each layer, positions and the final norm.
  const spec::Job one = toy::job(), four = toy::job({.tp = 4});
  const std::int64_t h = 256, repeated = 4 * (4 * h + 2 * h) + 128 * h + 2 * h;
  EXPECT_EQ(4 * over_stages(Context(four)), over_stages(Context(one)) + 3 * repeated);
}

TEST(Shares, OfFewKeyHeadsAreReplicated) {
  // One key head on four ranks: each holds it, 2 h x 32 weights and 2 x 32 biases; cut in four it would be a quarter.
  const spec::Job j = toy::job({.tp = 4}, [](spec::Job& job) { job.model.kv_heads = 1; });
  const spec::Job none = toy::job({.tp = 4}, [](spec::Job& job) { job.model.kv_heads = 4; });
  EXPECT_EQ(plan::layer_parameters(Context(j), 0), plan::layer_parameters(Context(none), 0));
}

TEST(Shares, TiedEmbeddingsOnOneStageCostNothingTwice) {
  const auto tied = [](spec::Job& j) { j.model.tied_embeddings = true; };
  const spec::Job one = toy::job({}, tied), two = toy::job({.pp = 2}, tied), untied = toy::job();
  EXPECT_EQ(plan::head_parameters(Context(one)), 2 * 256);  // the final norm
  EXPECT_EQ(plan::head_parameters(Context(two)), 2 * 256 + 2048 * 256);
  EXPECT_EQ(plan::head_parameters(Context(untied)), 2 * 256 + 2048 * 256);
}

TEST(Shares, ZeroOneDividesTheOptimizersPartRoundedUp) {
  const spec::Job all = toy::job({.dp = 3}), share = toy::job({.dp = 3, .zero = 1});
  EXPECT_EQ(plan::optimizer_share(Context(all), {100, 0}), (plan::Held{100, 0}));
  EXPECT_EQ(plan::optimizer_share(Context(share), {100, 0}), (plan::Held{34, 0}));
}

TEST(Shares, EightBitMomentsHaveTwoScalesForEachBlockOf256) {
  // 256 numbers are one block of 2 x 4 bytes, one more number needs a second block.
  const spec::Job j = toy::job({}, [](spec::Job& job) { job.training.optimizer = spec::Optimizer::adamw8bit; });
  EXPECT_EQ(plan::optimizer_scales(Context(j), 256), 8);
  EXPECT_EQ(plan::optimizer_scales(Context(j), 257), 16);
  EXPECT_EQ(plan::optimizer_scales(Context(toy::job()), 257), 0);
}

TEST(Shares, OptimizerKeepsMomentsAndMasterWeightsInSinglePrecision) {
  const auto bytes = [](spec::Optimizer optimizer, bool master) {
    const spec::Job j = toy::job({}, [=](spec::Job& job) {
      job.training.optimizer = optimizer;
      job.training.master_weights = master;
    });
    return plan::optimizer_bytes(Context(j));
  };
  EXPECT_EQ(bytes(spec::Optimizer::adamw, true), 4 + 4 + 4);
  EXPECT_EQ(bytes(spec::Optimizer::adamw, false), 4 + 4);
  EXPECT_EQ(bytes(spec::Optimizer::adamw8bit, true), 1 + 1 + 4);
  EXPECT_EQ(bytes(spec::Optimizer::sgd, true), 4 + 4);
  EXPECT_EQ(bytes(spec::Optimizer::sgd, false), 4);
}

std::vector<std::vector<int>> layers(const spec::Job& j) {
  std::vector<std::vector<int>> out;
  for (const std::vector<Chunk>& stage : plan::chunks_of(Context(j))) {
    out.emplace_back();
    for (const Chunk& chunk : stage) {
      for (int i = 0; i < chunk.layers; ++i) out.back().push_back(chunk.first_layer + i);
    }
  }
  return out;
}

using Layers = std::vector<std::vector<int>>;

TEST(Chunks, DivideTheLayersEvenly) { EXPECT_EQ(layers(toy::job({.pp = 2})), (Layers{{0, 1}, {2, 3}})); }

TEST(Chunks, OfAStageLieAStageCountApartInTheModel) {
  EXPECT_EQ(layers(toy::job({.pp = 2, .vpp = 2, .microbatches = 2})), (Layers{{0, 2}, {1, 3}}));
}

TEST(Chunks, FollowAListOfStageLayers) {
  const spec::Job j = toy::job({.pp = 3}, [](spec::Job& job) { job.strategy.stage_layers = {0, 3, 1}; });
  EXPECT_EQ(layers(j), (Layers{{}, {0, 1, 2}, {3}}));
}

TEST(Chunks, FollowAListWithAnEntryForEachChunk) {
  const spec::Job j = toy::job({.pp = 2, .vpp = 2, .microbatches = 2}, [](spec::Job& job) {
    job.model.layers = 6;
    job.strategy.stage_layers = {1, 2, 3, 0};  // in model order: stage 0, 1, 0, 1
  });
  EXPECT_EQ(layers(j), (Layers{{0, 3, 4, 5}, {1, 2}}));
}

TEST(Chunks, CountEmbeddingAndHeadAsLayersWhenAsked) {
  // 4 + 2 over 3 stages: the embedding and a layer, two layers, a layer and the head.
  const auto with = [](spec::Job& j) { j.strategy.embedding_in_split = true; };
  EXPECT_EQ(layers(toy::job({.pp = 3}, with)), (Layers{{0}, {1, 2}, {3}}));
  // 4 + 2 over 6 stages: the first and the last hold no layer.
  EXPECT_EQ(layers(toy::job({.pp = 6}, with)), (Layers{{}, {0}, {1}, {2}, {3}, {}}));
  // 5 + 1 over 3: only the head counts.
  const spec::Job head = toy::job({.pp = 3}, [](spec::Job& j) {
    j.strategy.embedding_in_split = true;
    j.model.layers = 5;
  });
  EXPECT_EQ(layers(head), (Layers{{0, 1}, {2, 3}, {4}}));
}

TEST(Chunks, CoverEveryLayerOnceAndKnowTheEndsOfTheModel) {
  walk::Dice dice(32);
  for (int i = 0; i < 300; ++i) {
    const spec::Job j = walk::random_job(dice);
    const Context c(j);
    const std::vector<std::vector<Chunk>> stages = plan::chunks_of(c);
    std::vector<int> times(j.model.layers, 0);
    int firsts = 0, lasts = 0;
    ASSERT_EQ(stages.size(), static_cast<std::size_t>(c.pp));
    for (const std::vector<Chunk>& stage : stages) {
      ASSERT_EQ(stage.size(), static_cast<std::size_t>(c.vpp));
      int before = 0;
      for (const Chunk& chunk : stage) {
        EXPECT_EQ(chunk.index_in_stage, before);
        before += chunk.layers;
        for (int at = 0; at < chunk.layers; ++at) ++times[chunk.first_layer + at];
        firsts += chunk.first;
        lasts += chunk.last;
      }
    }
    for (const int count : times) EXPECT_EQ(count, 1) << walk::told(j);
    EXPECT_EQ(firsts, 1);
    EXPECT_EQ(lasts, 1);
    EXPECT_TRUE(stages.front().front().first);
    EXPECT_TRUE(stages.back().back().last);
  }
}

}  // namespace
