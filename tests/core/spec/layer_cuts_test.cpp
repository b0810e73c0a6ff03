// SPDX-License-Identifier: Apache-2.0
#include "core/spec/layer_cuts.h"

#include <gtest/gtest.h>

#include "core/spec/job.h"

namespace spec {
namespace {

std::vector<int> counts(int layers, int pp, int vpp, bool embedding_in_split = false,
                        std::vector<int> stage_layers = {}) {
  Model model;
  model.layers = layers;
  Strategy s;
  s.pp = pp;
  s.vpp = vpp;
  s.embedding_in_split = embedding_in_split;
  s.stage_layers = std::move(stage_layers);
  std::vector<int> out;
  int first = 0;
  for (const ChunkLayers& chunk : split_layers(model, s)) {
    EXPECT_EQ(chunk.first, first);  // in model order, none left out
    first += chunk.count;
    out.push_back(chunk.count);
  }
  return out;
}

using Counts = std::vector<int>;

TEST(SplitLayers, EvenlyWhenTheyDivide) {
  EXPECT_EQ(counts(24, 4, 1), (Counts{6, 6, 6, 6}));
  EXPECT_EQ(counts(24, 2, 3), (Counts{4, 4, 4, 4, 4, 4}));
  EXPECT_EQ(counts(7, 1, 1), (Counts{7}));
}

/// Layers 0, 1, 4, 7 and 10 of 12 choose their keys.
Counts at_choices(const Counts& wished) {
  Model model;
  model.layers = 12;
  model.indexer = Indexer{.heads = 4, .head_dim = 16, .top_k = 64, .first = 2, .every = 3};
  return cut_at_choices(model, wished);
}

TEST(CutAtChoices, TakesTheNearestLayersThatChoose) {
  EXPECT_EQ(at_choices({6, 6}), (Counts{7, 5}));  // 6 is nearer to 7 than to 4
  EXPECT_EQ(at_choices({4, 4, 4}), (Counts{4, 3, 5}));
  EXPECT_EQ(at_choices({3, 3, 3, 3}), (Counts{4, 3, 3, 2}));
  EXPECT_EQ(at_choices({12}), (Counts{12}));
}

TEST(CutAtChoices, LeavesOneForEachChunkBehind) {
  EXPECT_EQ(at_choices({8, 1, 1, 1, 1}), (Counts{1, 3, 3, 3, 2}));
  EXPECT_EQ(at_choices({2, 2, 2, 2, 2, 2}), Counts{});  // six chunks, five such layers
}

TEST(CutAtChoices, EndsMayHoldNoLayer) {
  EXPECT_EQ(at_choices({6, 6, 0}), (Counts{7, 5, 0}));
  EXPECT_EQ(at_choices({0, 6, 6}), (Counts{0, 7, 5}));
}

TEST(CutAtChoices, WhereEachLayerChoosesNothingChanges) {
  Model model;
  model.layers = 12;
  EXPECT_EQ(cut_at_choices(model, {5, 7}), (Counts{5, 7}));
  model.indexer = Indexer{.heads = 4, .head_dim = 16, .top_k = 64};
  EXPECT_EQ(cut_at_choices(model, {5, 7}), (Counts{5, 7}));
}

TEST(SplitLayers, NotWhenTheyDoNot) {
  EXPECT_EQ(counts(24, 5, 1), Counts{});
  EXPECT_EQ(counts(2, 4, 1), Counts{});
  EXPECT_EQ(counts(8, 1'000'000, 1'000'000), Counts{});
}

TEST(SplitLayers, EmbeddingAndHeadCountAsLayers) {
  // 70 + 2 over 12 stages: 6 each, the ends one fewer.
  EXPECT_EQ(counts(70, 12, 1, true), (Counts{5, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 5}));
  // 126 + 2 over 16 x 8 chunks of one: the first holds the embedding alone, the last the head alone.
  const Counts llama = counts(126, 16, 8, true);
  ASSERT_EQ(llama.size(), 128u);
  EXPECT_EQ(llama.front(), 0);
  EXPECT_EQ(llama[1], 1);
  EXPECT_EQ(llama.back(), 0);
}

TEST(SplitLayers, TheHeadAloneCountsWhereOnlyThatDivides) {
  EXPECT_EQ(counts(23, 4, 1, true), (Counts{6, 6, 6, 5}));  // 25 does not divide by 4, 24 does
  EXPECT_EQ(counts(24, 4, 1, true), Counts{});              // neither 26 nor 25 does
  EXPECT_EQ(counts(24, 1, 1, true), (Counts{24}));
}

TEST(SplitLayers, AListSaysItOutright) {
  EXPECT_EQ(counts(80, 4, 1, false, {19, 21, 21, 19}), (Counts{19, 21, 21, 19}));
  EXPECT_EQ(counts(8, 2, 2, false, {1, 3, 3, 1}), (Counts{1, 3, 3, 1}));  // one entry a chunk, in model order
  EXPECT_EQ(counts(12, 2, 2, false, {4, 8}), (Counts{2, 4, 2, 4}));       // one a stage: shared by its chunks
}

TEST(SplitLayers, OnlyTheEndsMayBeWithoutLayers) {
  EXPECT_EQ(counts(4, 4, 1, false, {0, 2, 2, 0}), (Counts{0, 2, 2, 0}));
  EXPECT_EQ(counts(4, 4, 1, false, {2, 0, 1, 1}), Counts{});
}

TEST(SplitLayers, AListThatDoesNotFitIsNone) {
  EXPECT_EQ(counts(8, 4, 1, false, {2, 2, 2}), Counts{});
  EXPECT_EQ(counts(8, 4, 1, false, {2, 2, 2, 3}), Counts{});
  EXPECT_EQ(counts(8, 2, 2, false, {3, 5}), Counts{});
  EXPECT_EQ(counts(2, 2, 1, false, {3, -1}), Counts{});
}

}  // namespace
}  // namespace spec

/// hidden 2048, ffn 8192 gated, 32 heads of 64: a layer holds 4 x 2048^2 + 3 x 2048 x 8192 = 67.1e6 weights, a head of
/// 131072 rows 268.4e6, four layers' worth.
spec::Model head_of_four_layers() {
  spec::Model model;
  model.layers = 16;
  model.hidden = 2048;
  model.heads = model.kv_heads = 32;
  model.head_dim = 64;
  model.ffn = 8192;
  model.gated_mlp = true;
  model.vocab = 131072;
  return model;
}

TEST(BalancedLayers, TheHeadCountsAsTheLayersItWeighs) {
  // 16 + 4 over 4 stages are 5 each: the last keeps one layer beside the head.
  const spec::Model model = head_of_four_layers();
  EXPECT_EQ(spec::balanced_layers(model, 4), (std::vector<int>{5, 5, 5, 1}));
  // Over 8 stages a share is 2.5, less than the head: it stands alone, and 16 layers go to seven stages.
  EXPECT_EQ(spec::balanced_layers(model, 8), (std::vector<int>{3, 3, 2, 2, 2, 2, 2, 0}));
}

TEST(BalancedLayers, OfExpertsThoseCountThatATokenMeets) {
  // As above with 8 experts, 2 of them met, each of half the width: as many weights a token as the dense layer. Counted
  // by one expert, a layer would weigh 42 million, the head six layers, and the last stage none.
  spec::Model model = head_of_four_layers();
  model.ffn = 4096;
  model.moe = spec::Moe{.experts = 8, .top_k = 2, .ffn = 4096};
  EXPECT_EQ(spec::balanced_layers(model, 4), (std::vector<int>{5, 5, 5, 1}));
}

TEST(SpreadLayers, TheEmbeddingAndTheHeadCountAsALayerEach) {
  // 61 + 2 over 32 chunks: 31 of two and the last of one; the first holds the embedding, the last the head alone.
  spec::Model model;
  model.layers = 61;
  std::vector<int> expected(32, 2);
  expected.front() = 1;
  expected.back() = 0;
  EXPECT_EQ(spec::spread_layers(model, 32), expected);
  // 63 over 8: seven of eight and one of seven.
  EXPECT_EQ(spec::spread_layers(model, 8), (std::vector<int>{7, 8, 8, 8, 8, 8, 8, 6}));
  EXPECT_EQ(spec::spread_layers(model, 64), std::vector<int>{});
}
