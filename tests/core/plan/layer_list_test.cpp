// tests/core/plan/layer_list_test.cpp -- a small convolutional network and tables, by hand.
// SPDX-License-Identifier: Apache-2.0
#include "core/plan/layer_list.h"

#include <gtest/gtest.h>

#include <variant>

#include "core/plan/build.h"
#include "core/plan/flops.h"
#include "tests/support/layer_toy.h"

namespace {

using spec::Layer;
using Type = spec::Layer::Type;

Layer table(std::int64_t rows) { return {.name = "", .type = Type::embedding_bag, .in = 1, .out = 1, .rows = rows}; }

TEST(LayerListPlan, KeepsEachTensorThatABackwardReadsOnce) {
  // Input 3 x 16 x 16 (convolution), its output 8 x 16 x 16 (batchnorm), the relu's result 8 x 16 x 16 (relu and dense
  // layer share it): 4864 numbers of 2 bytes for each of 4 images.
  const plan::Plan plan = plan::build(layer_toy::job(1, 1, 4));
  std::int64_t level = 0, most = 0;
  for (const plan::Call& call : plan.roles[0].calls) {
    for (const plan::MemoryChange& change : plan.segments[call.segment].memory) {
      if (change.category != plan::Category::activations) continue;
      level += change.bytes;
      most = std::max(most, level);
    }
  }
  EXPECT_EQ(most, 4 * 4864 * 2);
  EXPECT_EQ(level, 0);
}

TEST(LayerListPlan, ReducesEveryDenseGradientOnce) {
  // 8 x 27 weights, 16 of the batchnorm, 2048 x 10 + 10 of the dense layer: 20,722, padded to a multiple of four ranks;
  // 4 bytes each.
  for (const bool overlaps : {true, false}) {
    spec::Job job = layer_toy::job(4, 3, 2);
    job.strategy.overlap.grad_reduce = overlaps;
    const plan::Plan plan = plan::build(job);
    std::int64_t bytes = 0;
    for (const plan::Call& call : plan.roles[0].calls) {
      for (const plan::Operator& op : plan.segments[call.segment].operators) {
        if (op.stream == plan::Stream::dp) bytes += std::get<plan::Collective>(plan.works[op.work]).bytes;
      }
    }
    EXPECT_EQ(bytes, 20'724 * 4) << overlaps;
  }
}

TEST(LayerListPlan, TheNetworksInputNeedsNoGradient) {
  int data = 0, weight = 0;
  for (const plan::Work& work : plan::build(layer_toy::job(1, 1, 1)).works) {
    const auto* convolution = std::get_if<plan::Convolution>(&work);
    if (!convolution) continue;
    data += convolution->pass == plan::Convolution::Pass::data_gradient;
    weight += convolution->pass == plan::Convolution::Pass::weight_gradient;
  }
  EXPECT_EQ(data, 0);
  EXPECT_EQ(weight, 1);
}

TEST(LayerListPlan, AStepIsThreeForwardsOfEverySample) {
  // 256 x 216 multiply-adds of the convolution, 20,480 of the dense layer; two FLOPs each; 24 samples.
  EXPECT_DOUBLE_EQ(plan::model_flops(layer_toy::job(4, 3, 2)), 3 * 2 * 24.0 * (256 * 216 + 20480));
}

TEST(LayerListPlan, TablesAreSpreadByLookupsAndThenBySize) {
  // 100 and 50 onto two ranks; the first 10 joins the 50, which holds less, the second then the 100.
  const plan::TableShare share = plan::table_share({table(10), table(100), table(10), table(50)}, 2);
  EXPECT_EQ(share.tables, 2);
  EXPECT_EQ(share.parameters, 110);
  // More ranks than tables: some hold none.
  EXPECT_EQ(plan::table_share({table(10), table(100)}, 8).parameters, 100);
  EXPECT_EQ(plan::table_share({}, 8).tables, 0);
}

TEST(LayerListPlan, EachRankSendsTheRowsItLookedUpForTheSamplesOfAll) {
  // Two ranks, one of the two tables each, 3 samples a rank: 6 pooled rows of 16 numbers of 2 bytes, there and back.
  const plan::Plan plan = plan::build(layer_toy::recommender(2, 3));
  int exchanges = 0;
  for (const plan::Segment& segment : plan.segments) {
    for (const plan::Operator& op : segment.operators) {
      const auto* collective = std::get_if<plan::Collective>(&plan.works[op.work]);
      if (!collective || collective->kind != plan::CollectiveKind::all_to_all) continue;
      ++exchanges;
      EXPECT_EQ(collective->bytes, 6 * 16 * 2);
    }
  }
  EXPECT_EQ(exchanges, 2);
}

TEST(LayerListPlan, RefusesOtherParallelismByName) {
  const auto field = [](auto change) {
    spec::Job job = layer_toy::draft(8, 1, 1);
    job.strategy.dp.reset();
    change(job);
    const std::vector<base::Fault> faults = spec::check(job);
    return faults.empty() ? std::string() : faults.front().field;
  };
  EXPECT_EQ(field([](spec::Job&) {}), "");
  EXPECT_EQ(field([](spec::Job& j) { j.strategy.tp = 2; }), "strategy.tp");
  EXPECT_EQ(field([](spec::Job& j) { j.strategy.pp = 2; }), "strategy.pp");
  EXPECT_EQ(field([](spec::Job& j) { j.training.mode = spec::Mode::decode; }), "training.mode");
  EXPECT_EQ(field([](spec::Job& j) { j.strategy.recompute.kind = spec::Recompute::Kind::full; }), "strategy.recompute");
}

}  // namespace
