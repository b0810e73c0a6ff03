// tests/core/plan/sparse_attention_test.cpp -- a toy behind an indexer: h = 256, 8 heads, latent queries of 64, latent
// keys of 32 with 16 rotary numbers, heads of 16 + 16 and values of 24; 4 index heads of 16, 32 keys a query.
// SPDX-License-Identifier: Apache-2.0
#include "core/plan/sparse_attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/plan/block.h"
#include "core/plan/flops.h"
#include "core/spec/parameters.h"
#include "tests/core/plan/walk.h"

namespace {

constexpr std::int64_t kIndexer = 64 * 4 * 16 + 256 * 16 + 256 * 4 + 2 * 16;  // queries, keys, weights, a layernorm

spec::Job toy_job(toy::Cut cut, int every = 1, spec::IndexerLoss loss = spec::IndexerLoss::none) {
  return toy::job(cut, [&](spec::Job& j) {
    j.model.heads = j.model.kv_heads = 8;
    j.model.mla = spec::Mla{
        .q_lora_rank = 64, .kv_lora_rank = 32, .rope_head_dim = 16, .nope_head_dim = 16, .value_head_dim = 24};
    j.model.head_dim = 32;
    j.model.indexer = spec::Indexer{.heads = 4, .head_dim = 16, .top_k = 32, .first = 1, .every = every};
    j.model.bias = false;
    j.model.qkv_bias = j.model.proj_bias = false;
    j.model.norm = spec::Norm::rmsnorm;
    j.model.position = spec::Position::rope;
    j.training.dropout = 0;
    j.cluster.node.gpu.generation = spec::Generation::hopper;
    j.training.indexer_loss = loss;
    j.strategy.attention_kernel = spec::AttentionKernel::sparse;
  });
}

int count(const plan::Plan& plan, const std::string& name, plan::Phase phase) {
  int out = 0;
  walk::operators(plan, plan.roles[0], [&](const plan::Call&, const plan::Operator& op) {
    out += op.phase == phase && plan.names[op.name] == name ? 1 : 0;
  });
  return out;
}

/// The first work of that name.
template <class Work>
Work work_called(const plan::Plan& plan, const std::string& name) {
  Work out;
  bool found = false;
  walk::operators(plan, plan.roles[0], [&](const plan::Call&, const plan::Operator& op) {
    if (found || plan.names[op.name] != name) return;
    out = std::get<Work>(plan.works[op.work]);
    found = true;
  });
  EXPECT_TRUE(found) << name;
  return out;
}

TEST(SparseAttention, AnIndexersParametersAreThoseOfItsProjectionsAndItsKeysNorm) {
  EXPECT_EQ(spec::indexer_parameters(toy_job({}).model), kIndexer);
  spec::Model plain = toy_job({}).model;
  plain.indexer.reset();
  EXPECT_EQ(spec::parameters(toy_job({}).model).total() - spec::parameters(plain).total(), plain.layers * kIndexer);
}

TEST(SparseAttention, TheFirstLayersAndEveryNthBehindThemHaveOne) {
  // GLM-5.2: 3 and every 4th, 0 1 2 6 10 ... 74, 21 of 78.
  spec::Model m = toy_job({}).model;
  m.layers = 78;
  m.indexer->first = 3;
  m.indexer->every = 4;
  std::vector<int> found;
  for (int layer = 0; layer < m.layers; ++layer) {
    if (m.parts_in(layer).indexes) found.push_back(layer);
  }
  ASSERT_EQ(found.size(), 21u);
  EXPECT_EQ((std::vector<int>{found.begin(), found.begin() + 5}), (std::vector<int>{0, 1, 2, 6, 10}));
  EXPECT_EQ(found.back(), 74);
  EXPECT_TRUE(m.module_parts(0).indexes);  // as its modules of further tokens do, though layer 77 has none
}

TEST(SparseAttention, ARanksParametersAddUpToTheModels) {
  for (const int every : {1, 2}) {
    for (const int mtp : {0, 1}) {
      spec::Job j = toy_job({}, every);
      j.model.mtp = mtp;
      EXPECT_EQ(walk::parameters(j, plan::build(j).roles[0]), spec::parameters(j.model).total()) << every << mtp;
    }
  }
}

TEST(SparseAttention, EachQueryAttendsToTheLatentVectorsThatWereChosenForIt) {
  const spec::Job j = toy_job({});
  const plan::Plan plan = plan::build(j);
  const auto work = work_called<plan::Attention>(plan, "attention");
  EXPECT_EQ(work.kernel, spec::AttentionKernel::sparse);
  EXPECT_EQ(work.heads, 8);
  EXPECT_EQ(work.kv_heads, 1);
  EXPECT_EQ(work.head_dim, 32 + 16);
  EXPECT_EQ(work.value_dim(), 32);
  // 128 tokens, of which the n-th sees min(n, 32): 32 x 128 less the triangle of 32 x 32 / 2. Two numbers a lane.
  const double pairs = static_cast<double>(j.training.micro_batch) * (32 * 128 - 32 * 32 / 2);
  EXPECT_DOUBLE_EQ(plan::hardware_flops(work), 2 * 8 * pairs * (48 + 32));
  const auto scores = work_called<plan::IndexScores>(plan, "index scores");
  EXPECT_DOUBLE_EQ(plan::hardware_flops(scores),
                   2.0 * 4 * 16 * static_cast<double>(j.training.micro_batch) * 128 * 128 / 2);
}

TEST(SparseAttention, LayersWithoutAnIndexerUseTheChoiceOfTheOneBefore) {
  const spec::Job each = toy_job({}), shared = toy_job({}, each.model.layers);
  const int microbatches = count(plan::build(each), "attention", plan::Phase::forward) / each.model.layers;
  EXPECT_EQ(count(plan::build(each), "index choice", plan::Phase::forward), microbatches * each.model.layers);
  EXPECT_EQ(count(plan::build(shared), "index choice", plan::Phase::forward), microbatches);
  EXPECT_EQ(count(plan::build(shared), "attention", plan::Phase::forward), microbatches * each.model.layers);
}

TEST(SparseAttention, TheAbsorbedMatricesDoTheWorkOfTheProjectionThatTheyAre) {
  // Queries to latent keys and latent values to heads: 2 t a (16 + 24) 32 FLOPs, as the keys' and values' projection
  // up.
  const spec::Job j = toy_job({});
  const plan::Plan plan = plan::build(j);
  const double t = static_cast<double>(j.training.micro_batch * 128);
  const auto queries = work_called<plan::Matmul>(plan, "queries to latent keys");
  const auto values = work_called<plan::Matmul>(plan, "latent values to heads");
  EXPECT_DOUBLE_EQ(plan::hardware_flops(queries) + plan::hardware_flops(values), 2 * t * 8 * (16 + 24) * 32);
  EXPECT_EQ(count(plan, "key and value up", plan::Phase::forward), 0);
}

TEST(SparseAttention, AnIndexerLearnsWhereTheJobSaysSo) {
  const plan::Plan still = plan::build(toy_job({})), learns = plan::build(toy_job({}, 1, spec::IndexerLoss::sparse));
  EXPECT_EQ(count(still, "index scores gradient", plan::Phase::backward), 0);
  EXPECT_EQ(count(still, "index queries weight gradient", plan::Phase::backward), 0);
  const int backwards = count(learns, "attention gradient", plan::Phase::backward);
  EXPECT_EQ(count(learns, "index scores gradient", plan::Phase::backward), backwards);
  EXPECT_EQ(count(learns, "index queries weight gradient", plan::Phase::backward), backwards);
  EXPECT_EQ(count(learns, "index queries input gradient", plan::Phase::backward), 0);  // its inputs are detached
  // Of the chosen keys, by attention's own heads in latent form, then by the indexer's.
  const auto target = work_called<plan::IndexScores>(learns, "indexer loss: attention scores");
  EXPECT_EQ(target.heads, 8);
  EXPECT_EQ(target.head_dim, 48);
  EXPECT_EQ(target.chosen, 32);
}

TEST(SparseAttention, WhatAForwardTakesABackwardGivesBack) {
  for (const auto recompute :
       {spec::Recompute::Kind::none, spec::Recompute::Kind::selective, spec::Recompute::Kind::full}) {
    for (const int every : {1, 2}) {
      for (const int tp : {1, 2}) {
        spec::Job j = toy_job({.tp = tp}, every, spec::IndexerLoss::sparse);
        j.strategy.sp = tp > 1;
        j.model.mtp = 1;
        j.strategy.recompute.kind = recompute;
        const plan::Plan plan = plan::build(j);
        std::int64_t held = 0;
        for (const plan::Call& call : plan.roles[0].calls) {
          for (const plan::MemoryChange& change : plan.segments[call.segment].memory) {
            if (change.category == plan::Category::activations) held += change.bytes;
          }
        }
        EXPECT_EQ(held, 0) << every << tp;
      }
    }
  }
}

TEST(SparseAttention, AChoiceThatLayersBehindNeedOutlivesFullRecomputation) {
  // 4 bytes for each of 32 keys of a token, beside the layer's input.
  spec::Job j = toy_job({}, 2);
  const auto kept = [&] {
    const plan::Context c(j);
    return plan::kept_activations(c, spec::Recompute::Kind::full, c.model.parts_in(0)).total();
  };
  const plan::Context c(j);
  EXPECT_EQ(kept(), c.tokens * (c.hidden * c.element + 32 * 4));
  j.model.indexer->every = 1;
  EXPECT_EQ(kept(), c.tokens * c.hidden * c.element);
}

TEST(SparseAttention, ContextParallelRanksGatherLatentVectorsAndIndexKeys) {
  // 2 ranks of 64 of 128 tokens, two chunks of 32 each; the last rank's end at 64 + 32 = 96... and at 128 under zigzag.
  spec::Job j = toy_job({});
  j.strategy.cp = 2;
  j.strategy.cp_kind = spec::CpKind::all_gather;
  j.cluster = toy::cluster(2);
  const plan::Plan plan = plan::build(j);
  const std::int64_t all = j.training.micro_batch * 128;
  EXPECT_EQ(work_called<plan::Collective>(plan, "latent keys all-gather").bytes, all * 48 * 2);
  EXPECT_EQ(work_called<plan::Collective>(plan, "index keys all-gather").bytes, all * 16 * 2);
  double pairs = 0;
  walk::operators(plan, plan.roles[0], [&](const plan::Call&, const plan::Operator& op) {
    const auto* scores = std::get_if<plan::IndexScores>(&plan.works[op.work]);
    if (scores != nullptr && op.phase == plan::Phase::forward) pairs += plan::pairs_of(*scores);
  });
  const int forwards = count(plan, "index choice", plan::Phase::forward);
  // Zigzag gives every rank the same pairs: half of the square's half.
  EXPECT_DOUBLE_EQ(pairs, forwards * static_cast<double>(j.training.micro_batch) * 128 * 128 / 4);
}

TEST(SparseAttention, PackedDocumentsAreSeenAloneAlsoByContextParallelRanks) {
  // Documents of 64 in 128 tokens: a query has 32 keys before it on average; of at most 32 keys it sees 24 (32 x 64
  // less the triangle of 32 x 32 / 2, over 64).
  spec::Job j = toy_job({});
  j.strategy.cp = 2;
  j.strategy.cp_kind = spec::CpKind::all_gather;
  j.cluster = toy::cluster(2);
  j.training.packing.emplace().mean = 64;
  const plan::Plan plan = plan::build(j);
  const auto scores = work_called<plan::IndexScores>(plan, "index scores");
  EXPECT_DOUBLE_EQ(plan::pairs_of(scores), static_cast<double>(j.training.micro_batch) * 64 * 32);
  const auto attention = work_called<plan::Attention>(plan, "attention");
  EXPECT_EQ(attention.q_len, 64);
  EXPECT_EQ(attention.window, 24);
  EXPECT_FALSE(attention.causal);
}

TEST(SparseAttention, RecomputedCoreAttentionKeepsNeitherItsResultNorWhatTheIndexerReads) {
  // In latent form 8 heads x 32 numbers of a token, 2 bytes each, and a choice of 32 x 4 bytes; with the loss index
  // queries and keys before and behind their turn or norm, and weights: (4 + 1) x 16 + 16 + 4 numbers.
  for (const auto loss : {spec::IndexerLoss::none, spec::IndexerLoss::sparse}) {
    spec::Job j = toy_job({}, 1, loss);
    const auto kept = [&](bool again) {
      j.strategy.recompute.kind = again ? spec::Recompute::Kind::selective : spec::Recompute::Kind::none;
      j.strategy.recompute.modules = {.core_attn = again};
      const plan::Context c(j);
      return plan::kept_activations(c, j.strategy.recompute.kind, c.model.parts_in(0)).total();
    };
    const plan::Context c(j);
    const std::int64_t reads = loss == spec::IndexerLoss::sparse ? (5 * 16 + 16 + 4) * 2 : 0;
    const std::int64_t rows = 8 * 4;  // the log-sum-exp of each
    EXPECT_EQ(kept(false) - kept(true), c.tokens * (8 * 32 * 2 + 32 * 4 + reads + rows));
  }
}

TEST(SparseAttention, WhatIsComputedAgainCountsTheIndexer) {
  // Full: each layer's forward, but for what nothing reads behind its last matmul; the indexer's among it.
  spec::Job j = toy_job({});
  const auto again = [&](spec::Recompute::Kind kind) {
    j.strategy.recompute = {.kind = kind};
    j.strategy.recompute.modules.core_attn = kind == spec::Recompute::Kind::selective;
    return (plan::hardware_flops(j) - plan::model_flops(j)) / static_cast<double>(j.training.global_batch);
  };
  const double layers = j.model.layers, pairs = 32 * 128 - 512;
  const double indexer = 2 * 128 * static_cast<double>(kIndexer - 2 * 16) + 2 * 4 * 16 * 128 * 64;
  const double values = 2.0 * 128 * 8 * 32 * 24;
  EXPECT_DOUBLE_EQ(again(spec::Recompute::Kind::selective), layers * (2 * 8 * 80 * pairs + indexer + values));
  const double with = again(spec::Recompute::Kind::full);
  j.model.indexer->heads = 8;  // twice the queries, weights and scores
  const double more = 2 * 128 * (64.0 * 4 * 16 + 256 * 4) + 2 * 4 * 16 * 128 * 64;
  EXPECT_NEAR(again(spec::Recompute::Kind::full) - with, layers * more, 1e-9 * with);
}

TEST(SparseAttention, AModuleOfFurtherTokensChoosesItsOwnKeys) {
  // Every second of the toy's layers chooses, the last one not; the module behind it does, although it is one like it.
  const auto with_module = [](toy::Cut cut, spec::IndexerLoss loss) {
    spec::Job j = toy_job(cut, 2, loss);
    j.model.mtp = 1;
    return j;
  };
  spec::Job j = with_module({}, spec::IndexerLoss::none);
  ASSERT_FALSE(j.model.parts_in(j.model.layers - 1).indexes);
  const std::int64_t choosing = j.model.count_layers([](spec::LayerParts parts) { return parts.indexes; }) + 1;
  // Full recomputation runs its indexer again: twice the index heads are so much more in each.
  j.strategy.recompute = {.kind = spec::Recompute::Kind::full};
  const auto again = [&] {
    return (plan::hardware_flops(j) - plan::model_flops(j)) / static_cast<double>(j.training.global_batch);
  };
  const double few = again(), more = 2 * 128 * (64.0 * 4 * 16 + 256 * 4) + 2 * 4 * 16 * 128 * 64;
  j.model.indexer->heads = 8;
  EXPECT_NEAR(again() - few, static_cast<double>(choosing) * more, 1e-9 * few);
  // Whole on each of two tensor-parallel ranks, its fp32 gradients are summed as those of the layers' indexers.
  const auto summed = [&](spec::IndexerLoss loss) {
    const plan::Plan p = plan::build(with_module({.tp = 2}, loss));
    return walk::collective_bytes(p, p.roles[0], "shared weights gradient all-reduce");
  };
  EXPECT_EQ(summed(spec::IndexerLoss::sparse) - summed(spec::IndexerLoss::none), choosing * kIndexer * 4);
}

TEST(SparseAttention, FlopsOfAModelAreOfTheKeysChosenAndOfTheIndexersForwards) {
  // A sequence of 128 and a layer: 8 heads on 48 + 32 numbers of 32 x 128 - 512 keys, three times with the backward;
  // an indexer's projections and its scores of half the square once.
  spec::Job j = toy_job({});
  const double pairs = 32 * 128 - 512, layers = j.model.layers, batch = static_cast<double>(j.training.global_batch);
  EXPECT_DOUBLE_EQ(plan::forward_flops(j.model, 128).attention, 2 * 8 * 80 * pairs);
  const double indexer = 2 * 128 * static_cast<double>(kIndexer - 2 * 16) + 2 * 4 * 16 * 128 * 64;
  spec::Job plain = j;
  plain.model.indexer.reset();
  const double dense = 2 * 8 * (32 + 24) * 128 * 64;
  EXPECT_DOUBLE_EQ(plan::model_flops(j) - plan::model_flops(plain),
                   batch * layers * (3 * (2 * 8 * 80 * pairs - dense) + indexer));
}

}  // namespace
