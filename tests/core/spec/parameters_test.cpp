// tests/core/spec/parameters_test.cpp -- a toy model whose every count can be done in the head. Published counts of
// whole models: tests/core/config/model_reader_test.cpp. SPDX-License-Identifier: Apache-2.0
#include "core/spec/parameters.h"

#include <gtest/gtest.h>

namespace {

using spec::Model;

/// hidden 8 in 4 heads of 2, of which 2 have keys and values; ffn 32; 10 words.
Model toy() {
  Model model;
  model.layers = 3;
  model.hidden = 8;
  model.heads = 4;
  model.kv_heads = 2;
  model.head_dim = 2;
  model.ffn = 32;
  model.vocab = 10;
  return model;
}

TEST(BlockParameters, MatmulsOfAGroupedQueryBlock) {
  const auto block = spec::block_parameters(toy());
  EXPECT_EQ(block.qkv, 8 * (8 + 4 + 4));  // queries 4 x 2, keys and values 2 x 2 each
  EXPECT_EQ(block.proj, 8 * 8);
  EXPECT_EQ(block.up, 8 * 32);
  EXPECT_EQ(block.down, 32 * 8);
  EXPECT_EQ(block.norms, 2 * (8 + 8));  // two layernorms, scale and shift
  EXPECT_EQ(block.qkv_bias + block.proj_bias + block.up_bias + block.down_bias, 0);
}

TEST(BlockParameters, AGatedBlockHasTwoUpProjectionsAndScaleOnlyNorms) {
  Model model = toy();
  model.gated_mlp = true;
  model.norm = spec::Norm::rmsnorm;
  const auto block = spec::block_parameters(model);
  EXPECT_EQ(block.up, 8 * 64);
  EXPECT_EQ(block.down, 32 * 8);
  EXPECT_EQ(block.norms, 2 * 8);
}

TEST(BlockParameters, BiasesFollowOneSwitchUnlessTheirOwnIsSet) {
  Model model = toy();
  model.bias = true;
  auto block = spec::block_parameters(model);
  EXPECT_EQ(block.qkv_bias, 16);
  EXPECT_EQ(block.proj_bias, 8);
  EXPECT_EQ(block.up_bias, 32);
  EXPECT_EQ(block.down_bias, 8);
  model.bias = false;
  model.qkv_bias = true;
  block = spec::block_parameters(model);
  EXPECT_EQ(block.qkv_bias, 16);
  EXPECT_EQ(block.proj_bias + block.up_bias + block.down_bias, 0);
}

TEST(BlockParameters, NormsByKindOfBlock) {
  Model model = toy();
  model.norm = spec::Norm::rmsnorm;
  model.qk_norm = true;
  EXPECT_EQ(spec::block_parameters(model).norms, 2 * 8 + 2 * 2);  // and one head's width each for queries and keys
  model.qk_scale = spec::QkScale::none;
  EXPECT_EQ(spec::block_parameters(model).norms, 2 * 8);
  model.qk_scale = spec::QkScale::width;  // one number each for those of all heads, cut with the heads
  EXPECT_EQ(spec::block_parameters(model).norms, 2 * 8);
  EXPECT_EQ(spec::block_parameters(model).qkv_bias, model.q_width() + model.kv_width());
  model.qk_norm = false;
  EXPECT_EQ(spec::block_parameters(model).qkv_bias, 0);
  model.post_norms = true;
  EXPECT_EQ(spec::block_parameters(model).norms, 4 * 8);
  model.post_norms = false;
  model.parallel_block = true;
  model.norms_in_parallel = 1;
  EXPECT_EQ(spec::block_parameters(model).norms, 8);
  model.norm = spec::Norm::layernorm;
  EXPECT_EQ(spec::block_parameters(model).norms, 16);
  model.norm_bias = false;
  EXPECT_EQ(spec::block_parameters(model).norms, 8);
}

TEST(Parameters, OfADenseModelAreItsBlocksAndItsEnds) {
  Model model = toy();
  model.bias = true;
  model.position = spec::Position::learned;
  model.max_positions = 7;
  const auto all = spec::parameters(model);
  const auto block = spec::block_parameters(model);
  EXPECT_EQ(all.attention + all.feed_forward + all.norms, 3 * block.total());
  EXPECT_EQ(all.embedding, 80);
  EXPECT_EQ(all.head, 80);
  EXPECT_EQ(all.positions, 56);
  EXPECT_EQ(all.final_norm, 16);
  EXPECT_EQ(all.total(), 3 * block.total() + 80 + 80 + 56 + 16);
}

TEST(Parameters, ATiedHeadHasOnlyItsBias) {
  Model model = toy();
  model.tied_embeddings = true;
  EXPECT_EQ(spec::parameters(model).head, 0);
  model.head_bias = true;
  EXPECT_EQ(spec::parameters(model).head, 10);
}

TEST(Parameters, OnlyLearnedPositionsAreCounted) {
  Model model = toy();
  model.max_positions = 7;
  EXPECT_EQ(spec::parameters(model).positions, 0);  // rope
}

TEST(Parameters, ExpertsStandInTheirLayersOnly) {
  Model model = toy();
  model.layers = 6;
  model.moe =
      spec::Moe{.experts = 5, .top_k = 2, .ffn = 3, .shared_experts = 1, .shared_ffn = 4, .first_dense = 2, .every = 2};
  // Every second layer is 1, 3, 5; layer 1 is among the first two, which stay dense: experts in 3 and 5.
  EXPECT_FALSE(model.moe->in_layer(1));
  EXPECT_FALSE(model.moe->in_layer(2));
  EXPECT_TRUE(model.moe->in_layer(3));
  const auto all = spec::parameters(model);
  EXPECT_EQ(all.experts, 2 * 5 * (2 * 8 * 3));
  EXPECT_EQ(all.shared_experts, 2 * (2 * 8 * 4));
  EXPECT_EQ(all.router, 2 * (8 * 5));
  EXPECT_EQ(all.feed_forward, 4 * (2 * 8 * 32));
  model.moe->router_bias = true;
  EXPECT_EQ(spec::parameters(model).router, 2 * (8 * 5 + 5));
}

TEST(Parameters, LatentAttentionCompressesQueriesAndKeys) {
  Model model = toy();
  model.layers = 1;
  model.norm = spec::Norm::rmsnorm;
  model.mla =
      spec::Mla{.q_lora_rank = 6, .kv_lora_rank = 5, .rope_head_dim = 1, .nope_head_dim = 2, .value_head_dim = 3};
  // queries 8 -> 6 -> 4 heads x (2 + 1); keys and values 8 -> 5 + 1, 5 -> 4 x (2 + 3); output 4 x 3 -> 8
  EXPECT_EQ(spec::parameters(model).attention, 8 * 6 + 6 * 12 + 8 * 6 + 5 * 20 + 12 * 8);
  EXPECT_EQ(spec::parameters(model).norms, 2 * 8 + 6 + 5);
  model.mla->q_lora_rank = 0;  // queries 8 -> 4 x 3 at once, without a norm
  EXPECT_EQ(spec::parameters(model).attention, 8 * 12 + 8 * 6 + 5 * 20 + 12 * 8);
  EXPECT_EQ(spec::parameters(model).norms, 2 * 8 + 5);
}

TEST(Parameters, APredictedTokenMoreIsABlockAndAProjection) {
  Model model = toy();
  const auto before = spec::parameters(model).total();
  model.mtp = 1;
  const auto after = spec::parameters(model);
  EXPECT_EQ(after.multi_token, spec::block_parameters(model).total() + 16 * 8 + 3 * 16);
  EXPECT_EQ(after.total(), before + after.multi_token);
}

TEST(Parameters, AttentionSinksAreOneNumberAHead) {
  Model model = toy();
  const auto before = spec::parameters(model).total();
  model.attention_sinks = true;
  EXPECT_EQ(spec::parameters(model).total(), before + 3 * 4);
  EXPECT_EQ(spec::block_parameters(model).qkv_bias, 4);
}

TEST(Model, AWindowEverySecondLayerBeginsWithTheFirst) {
  Model model = toy();
  model.window = 16;
  model.window_every = 2;
  EXPECT_EQ(model.window_of(0), 16);
  EXPECT_EQ(model.window_of(1), 0);
  EXPECT_EQ(model.window_of(2), 16);
}

}  // namespace
