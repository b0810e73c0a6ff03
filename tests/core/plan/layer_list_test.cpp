// tests/core/plan/layer_list_test.cpp -- a small convolutional network and tables, by hand.
// SPDX-License-Identifier: Apache-2.0
#include "core/plan/layer_list.h"

#include <gtest/gtest.h>

#include <variant>

#include "core/plan/build.h"
#include "core/plan/flops.h"
#include "core/plan/unit_cut.h"
#include "tests/core/plan/walk.h"
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

TEST(LayerListPlan, TurnsImagesInTf32AroundEachConvolution) {
  // The convolution of 3 x 16 x 16 to 8 x 16 x 16, 768 and 2,048 numbers an image; 4 images, each number read and
  // written with 4 bytes. Forward: input and result; weight gradient: input and output gradient; there is no data
  // gradient, for nobody asks for that of the network's input.
  const auto turned = [](spec::Dtype precision, bool channels_first) {
    spec::Job job = layer_toy::job(1, 1, 4);
    job.training.precision = precision;
    job.framework.channels_first_tf32 = channels_first;
    const plan::Plan plan = plan::build(job);
    std::int64_t bytes = 0;
    for (const plan::Call& call : plan.roles[0].calls) {
      for (const plan::Operator& op : plan.segments[call.segment].operators) {
        const auto* move = std::get_if<plan::MemoryBound>(&plan.works[op.work]);
        if (move && plan.names[op.name].find(" to channels ") != std::string::npos) bytes += move->read + move->written;
      }
    }
    return bytes;
  };
  EXPECT_EQ(turned(spec::Dtype::tf32, true), 2 * (768 + 2'048) * 4 * 2 * 4);
  EXPECT_EQ(turned(spec::Dtype::tf32, false), 0);
  EXPECT_EQ(turned(spec::Dtype::fp16, true), 0);
}

/// A convolution of 216 weights, two modules of a convolution and a norm (576 + 16), a dense layer of 20,490: 21,890.
spec::Job modules(int dp, std::int64_t microbatches, int zero) {
  spec::Job job = layer_toy::draft(dp, microbatches, 2);
  const Layer conv{
      .name = "a.conv", .type = Type::convolution, .in = 8, .out = 8, .size = 16, .kernel = 3, .padding = 1};
  const Layer norm{.name = "a.norm", .type = Type::batchnorm, .in = 8, .out = 8, .size = 16};
  std::vector<Layer>& list = job.model.list;
  list = {list.front(), conv, norm, conv, norm, list.back()};
  list[3].name = "b.conv";
  list[4].name = "b.norm";
  for (int i = 0; i < 6; ++i) list[i].reads = i - 1;
  job.model.layers = 6;
  job.strategy.zero = zero;
  job.training.gradient_dtype = spec::Dtype::bf16;
  return toy::resolved(std::move(job));
}

TEST(LayerListPlan, AUnitIsAModuleAndWhatStandsInNoneIsOfTheRoot) {
  spec::Job job = modules(2, 1, 3);
  const plan::Context c(job);
  const plan::Chunk chunk{.layers = 6, .first = true, .last = true};
  const plan::UnitCut cut(c, chunk);
  EXPECT_EQ(cut.count(), 2);
  EXPECT_EQ(cut.held(0).dense, 592);
  EXPECT_EQ(cut.root().dense, 216 + 20'490);
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(cut.opens(i), i == 1 || i == 3) << i;
    EXPECT_EQ(cut.closes(i), i == 2 || i == 4) << i;
  }
  job.strategy.fsdp.unit = 0;  // the model: all modules at once
  const plan::UnitCut one(c, chunk);
  ASSERT_EQ(one.count(), 1);
  EXPECT_EQ(one.held(0).dense, 2 * 592);
}

TEST(LayerListPlan, ShardedItGathersModulesTwiceAndScattersEachMicrobatch) {
  // 2 bytes; in the backward the first module again, the root and the last module have stayed.
  const plan::Plan p = plan::build(modules(2, 3, 3));
  EXPECT_EQ(walk::collective_bytes(p, p.roles[0], "unit all-gather"), 3 * 2 * (21'890 + 592));
  EXPECT_EQ(walk::collective_bytes(p, p.roles[0], "gradient reduce-scatter"), 3 * 2 * 21'890);
  const plan::Plan two = plan::build(modules(2, 3, 2));
  EXPECT_EQ(walk::collective_bytes(two, two.roles[0], "gradient reduce-scatter"), 3 * 2 * 21'890);
  EXPECT_EQ(walk::collective_bytes(two, two.roles[0], "parameter all-gather"), 2 * 21'890);
  spec::Job lazy = modules(2, 3, 3);
  lazy.strategy.fsdp.sync_each_microbatch = false;
  const plan::Plan once = plan::build(lazy);
  EXPECT_EQ(walk::collective_bytes(once, once.roles[0], "gradient reduce-scatter"), 2 * 21'890);
}

TEST(LayerListPlan, WholeSumsWaitBesideTheShardWhereMicrobatchesAreNotScattered) {
  // 21,890 gradients of 2 bytes, whatever the ranks: from the step's begin to its update all of them.
  spec::Job job = modules(2, 3, 3);
  job.strategy.fsdp.sync_each_microbatch = false;
  const plan::Plan p = plan::build(job);
  const int gradients = static_cast<int>(plan::Category::gradients);
  std::int64_t level = p.roles[0].resident[gradients], most = level;
  EXPECT_EQ(level, 21'890);  // of the shard
  for (const plan::Call& call : p.roles[0].calls) {
    for (const plan::MemoryChange& change : p.segments[call.segment].memory) {
      if (static_cast<int>(change.category) == gradients) most = std::max(most, level += change.bytes);
    }
  }
  EXPECT_EQ(most, 2 * 21'890);
  EXPECT_EQ(level, 21'890);
}

TEST(LayerListPlan, HoldsTheStatesOfItsShard) {
  // P = 21,890 on 2 ranks; weights and gradients of 2 bytes, 12 of Adam and master: 16 P, 10 P, 9 P and 8 P.
  const std::array<std::int64_t, 4> halves{32, 20, 18, 16};
  for (int zero = 0; zero <= 3; ++zero) {
    const plan::Plan p = plan::build(modules(2, 1, zero));
    std::int64_t states = 0;
    for (const plan::Category of : {plan::Category::parameters, plan::Category::gradients, plan::Category::optimizer}) {
      states += p.roles[0].resident[static_cast<int>(of)];
    }
    EXPECT_EQ(states, halves[zero] * 21'890 / 2) << zero;
  }
}

TEST(LayerListPlan, GivesBackTheUnitsItGathers) {
  for (const int unit : {0, 1, 2}) {
    for (const bool reshard : {true, false}) {
      for (const bool bucketed : {true, false}) {
        spec::Job job = modules(2, 2, 3);
        job.strategy.fsdp = {.unit = unit, .reshard = reshard};
        job.framework.bucketed_units = bucketed;
        job.strategy.fused_kernels.grad_accumulation = !bucketed;
        const plan::Plan p = plan::build(job);
        std::array<std::int64_t, plan::kCategories> level{};
        for (const plan::Call& call : p.roles[0].calls) {
          for (const plan::MemoryChange& change : p.segments[call.segment].memory) {
            level[static_cast<int>(change.category)] += change.bytes;
            ASSERT_GE(level[static_cast<int>(change.category)], 0);
          }
        }
        for (const std::int64_t left : level) EXPECT_EQ(left, 0);
        EXPECT_EQ(walk::collective_bytes(p, p.roles[0], "gradient reduce-scatter"), 2 * 2 * 21'890) << bucketed;
      }
    }
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
