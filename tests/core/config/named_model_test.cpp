// tests/core/config/named_model_test.cpp -- a model written out by its shape has the details that its name tells.
// SPDX-License-Identifier: Apache-2.0
#include "core/config/named_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/config/small_catalogue.h"

namespace config::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::Not;

/// The catalogue has fancy-8x1b: 2 layers of 8 experts, norms of queries and keys by the width, a window of 128 tokens
/// in every second layer, biases, experts in two groups.
class NamedModel : public ::testing::Test {
 protected:
  NamedModel() {
    small_.add("workloads/models/fancy-8x1b.yaml",
               "{name: fancy-8x1b, layers: 2, hidden: 256, heads: 4, ffn: 1024, gated_mlp: true, vocab: 1000, "
               "qk_norm: width, window: 128, window_every: 2, bias: true, mtp: 1, "
               "moe: {experts: 8, top_k: 2, ffn: 512, router_bias: true, groups: 2, top_groups: 1}}\n");
  }

  /// A job of that shape; `more` follows its keys, `experts` those of its experts.
  spec::Job job(const std::string& name, const std::string& more = "", const std::string& experts = "") {
    return small_.read("{model: {name: " + name + ", layers: 2, hidden: 256, heads: 4, gated_mlp: true, vocab: 2000" +
                       more + ", moe: {experts: 8, top_k: 2, ffn: 512" + experts +
                       "}}, cluster: {node: box-8}, training: {sequence: 256, global_batch: 8}, strategy: {ep: 2}}");
  }

  SmallCatalogue small_;
};

MATCHER(OfTheName, "") {
  return std::ranges::any_of(arg, [](const std::string& one) { return one.starts_with("model."); });
}

TEST_F(NamedModel, ANameInOtherCapitalsAndSignsIsTheCataloguesWhereTheShapeIs) {
  const spec::Job j = job("Fancy 8x1B");
  EXPECT_TRUE(j.model.qk_norm);
  EXPECT_EQ(j.model.qk_scale, spec::QkScale::width);
  EXPECT_EQ(j.model.window_of(0), 128);
  EXPECT_EQ(j.model.window_of(1), 0);
  EXPECT_TRUE(j.model.bias);
  EXPECT_TRUE(j.model.moe->router_bias);
  EXPECT_EQ(j.model.moe->groups, 2);
}

TEST_F(NamedModel, WhatIsTakenOverIsTold) {
  const spec::Job j = job("Fancy-8x1B", ", window: 64, bias: false", ", router_bias: false");
  EXPECT_THAT(
      std::vector(j.assumptions.begin(), j.assumptions.begin() + 4),
      ElementsAre("model.qk_norm: width (fancy-8x1b's, which it is by name and shape)",
                  "model.window_every: 2 (fancy-8x1b's, which it is by name and shape)",
                  "model.moe.groups: 2 (fancy-8x1b's, which it is by name and shape)", "dp: 8 (ranks / (tp cp pp))"));
}

TEST_F(NamedModel, WhatIsWrittenStays) {
  const spec::Job j = job("fancy-8x1b", ", qk_norm: false, window: 0, bias: false", ", router_bias: false, groups: 1");
  EXPECT_THAT(j.assumptions, Not(OfTheName()));
  EXPECT_FALSE(j.model.qk_norm);
  EXPECT_EQ(j.model.window_of(0), 0);
  EXPECT_EQ(j.model.moe->top_groups, 1);
}

TEST_F(NamedModel, VocabularyDepthAndPredictionAreTheRuns) {
  const spec::Job cut = small_.read(
      "{model: {name: fancy-8x1b, layers: 1, hidden: 256, heads: 4, gated_mlp: true, vocab: 2000, "
      "moe: {experts: 8, top_k: 2, ffn: 512}}, cluster: {node: box-8}, training: {sequence: 256, global_batch: 8}}");
  EXPECT_TRUE(cut.model.qk_norm);
  EXPECT_EQ(cut.model.layers, 1);
  const spec::Job j = job("fancy-8x1b");
  EXPECT_EQ(j.model.vocab, 2000);
  EXPECT_EQ(j.model.mtp, 0);
}

TEST_F(NamedModel, AnotherShapeOrNameIsAnotherModel) {
  for (const spec::Job& j : {job("fancy-8x1b", ", kv_heads: 2"), job("fancy-8x1b", "", ", shared_experts: 1"),
                             job("fancy-8x1b", ", head_dim: 128"), job("fancy-8x1b-small")}) {
    EXPECT_THAT(j.assumptions, Not(OfTheName()));
    EXPECT_FALSE(j.model.qk_norm);
  }
}

TEST_F(NamedModel, ADenseLayerBesideExpertsHasTheWidthOfItsOwn) {
  small_.add("workloads/models/mixed-8x1b.yaml",
             "{name: mixed-8x1b, layers: 2, hidden: 256, heads: 4, ffn: 1024, vocab: 1000, window: 128, "
             "moe: {experts: 8, top_k: 2, ffn: 512, first_dense: 1}}\n");
  const auto window = [&](const char* ffn) {
    return small_
        .read(std::string("{model: {name: mixed-8x1b, layers: 2, hidden: 256, heads: 4, vocab: 2000, ffn: ") + ffn +
              ", moe: {experts: 8, top_k: 2, ffn: 512, first_dense: 1}}, cluster: {node: box-8}, "
              "training: {sequence: 256, global_batch: 8}}")
        .model.window;
  };
  EXPECT_EQ(window("1024"), 128);
  EXPECT_EQ(window("2048"), 0);
}

TEST_F(NamedModel, PlacesAreCountedOnlyWhereTheyAreLearned) {
  const auto told = [&](const std::string& name, const std::string& position) {
    const std::string shape =
        name + ", layers: 2, hidden: 256, heads: 4, ffn: 1024, vocab: 1000, position: " + position;
    small_.add("workloads/models/" + name + ".yaml", "{name: " + shape + ", max_positions: 4096}\n");
    return small_
        .read("{model: {name: " + shape + "}, cluster: {node: box-8}, training: {sequence: 256, global_batch: 8}}")
        .assumptions;
  };
  EXPECT_THAT(told("turned", "rope"), Not(OfTheName()));
  EXPECT_THAT(told("placed", "learned"), OfTheName());
}

TEST_F(NamedModel, OfTwoNamesThatDifferByASignTheShapeDecides) {
  // This twin comes before fancy-8x1b in the catalogue's order.
  small_.add("workloads/models/fancy-8-x1b.yaml",
             "{name: fancy-8-x1b, layers: 4, hidden: 512, heads: 4, ffn: 2048, vocab: 1000}\n");
  EXPECT_EQ(job("Fancy 8x1B").model.window_of(0), 128);
}

TEST_F(NamedModel, AnEmptyValueSaysAsLittleAsNone) { EXPECT_TRUE(job("fancy-8x1b", ", qk_norm: ").model.qk_norm); }

TEST_F(NamedModel, AStatedBiasSpeaksForThoseOfAttention) {
  const spec::Job j = job("fancy-8x1b", ", bias: false");
  EXPECT_FALSE(j.model.qkv_bias);
  EXPECT_FALSE(j.model.proj_bias);
}

TEST_F(NamedModel, ANullOfTheExpertsIsADenseModel) {
  const spec::Job j = small_.read(
      "{model: {name: fancy-8x1b, layers: 2, hidden: 256, heads: 4, ffn: 1024, gated_mlp: true, vocab: 2000, moe: }, "
      "cluster: {node: box-8}, training: {sequence: 256, global_batch: 8}}");
  EXPECT_FALSE(j.model.moe);
  EXPECT_THAT(j.assumptions, Not(OfTheName()));
}

TEST_F(NamedModel, AMapLaidOverABaseIsWhole) {
  const spec::Job j = small_.read(
      "{model: {base: fancy-8x1b, window: 0}, cluster: {node: box-8}, training: {sequence: 256, global_batch: 8}}");
  EXPECT_THAT(j.assumptions, Not(OfTheName()));
  EXPECT_TRUE(j.model.bias);
}

}  // namespace
}  // namespace config::testing
