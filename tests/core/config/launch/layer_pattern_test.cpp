// tests/core/config/launch/layer_pattern_test.cpp -- Megatron-LM's patterns of layers, read and written.
// SPDX-License-Identifier: Apache-2.0
#include "core/config/launch/layer_pattern.h"

#include <gtest/gtest.h>

namespace {

using namespace config::launch;
using Layers = std::vector<int>;

TEST(LayerPattern, ListsAreAddedAndRepeated) {
  EXPECT_EQ(layer_list("([0]*2+[1]*3)"), (Layers{0, 0, 1, 1, 1}));
  EXPECT_EQ(layer_list("[1,0]*2"), (Layers{1, 0, 1, 0}));
  EXPECT_EQ(layer_list("([1]*2+[0])*2"), (Layers{1, 1, 0, 1, 1, 0}));
}

TEST(LayerPattern, WhatIsNoListIsNothing) {
  for (const char* text : {"", "3", "[1", "[1]*", "[1]+", "([1]", "[1]*99999", "[a]", "[1]]"})
    EXPECT_FALSE(layer_list(text)) << text;
}

TEST(LayerPattern, ExpertsOfEveryModelComeBack) {
  for (int first_dense = 0; first_dense < 4; ++first_dense) {
    for (int every = 1; every < 4; ++every) {
      if (first_dense > 0 && every > 1) continue;  // no Job has both, as far as Megatron-LM's models go
      spec::Model model;
      model.layers = 12;
      model.moe = spec::Moe{.experts = 8, .top_k = 2, .ffn = 64, .first_dense = first_dense, .every = every};
      const auto back = expert_layers(*layer_list(expert_layers(model)));
      ASSERT_TRUE(back);
      EXPECT_EQ(back->first_dense, first_dense);
      EXPECT_EQ(back->every, every);
    }
  }
  EXPECT_FALSE(expert_layers(Layers{1, 0, 1, 1}));
}

TEST(LayerPattern, LayoutsGiveTheLayersOfEachStage) {
  EXPECT_EQ(stage_layers("Et*19|t*21|t*21|t*19L"), (Layers{19, 21, 21, 19}));
  EXPECT_EQ(stage_layers("Et|(tt|)*2L"), (Layers{1, 2, 2, 0}));  // the last part holds the loss alone
  EXPECT_EQ(stage_layers(layout_of({0, 3, 2})), (Layers{0, 3, 2}));
  EXPECT_EQ(stage_layers("Et*3|(tttt|)*2ttmL", 1), (Layers{3, 4, 4, 2}));  // a module of multi-token prediction
  EXPECT_EQ(stage_layers(layout_of({2, 1}, 2), 2), (Layers{2, 1}));
  EXPECT_FALSE(stage_layers("Ett|tmL", 2));
  EXPECT_FALSE(stage_layers("Ett|m|tL", 1));  // elsewhere than in front of the loss
  for (const char* text : {"", "t|tL", "Et|t", "Et|mL", "E(t|L", "Et)L"}) EXPECT_FALSE(stage_layers(text)) << text;
}

}  // namespace
