// tests/sim/schedules_test.cpp -- whole jobs under the schedules that split the backward, feed the pipeline from both
// ends or never flush it. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "core/plan/build.h"
#include "sim/predict.h"
#include "tests/core/plan/walk.h"

namespace {

using plan::Category;
using spec::Schedule;

constexpr std::array kSchedules{Schedule::zb_h1, Schedule::zb_h2, Schedule::zb_v, Schedule::dualpipe,
                                Schedule::pipedream};

spec::Job job(walk::Dice& dice, Schedule schedule) {
  toy::Cut cut;
  cut.tp = dice.of({1, 2});
  cut.sp = dice.coin();
  cut.pp = dice.of({2, 4});
  cut.dp = dice.of({1, 2});
  cut.zero = dice.below(2);
  cut.microbatches = schedule == Schedule::dualpipe ? 2 * (cut.pp + dice.below(4)) : dice.from(1, 12);
  cut.schedule = schedule;
  cut.recompute.kind =
      dice.of({spec::Recompute::Kind::none, spec::Recompute::Kind::selective, spec::Recompute::Kind::full});
  return toy::job(cut, [&](spec::Job& j) {
    j.model.layers = 2 * j.strategy.pp;
    if (dice.coin()) {
      j.strategy.embedding_in_split = true;
      j.model.layers -= 2;
    }
    j.model.tied_embeddings = dice.coin();
    j.model.position = dice.of({spec::Position::rope, spec::Position::learned});
    j.training.dropout = dice.coin() ? 0.1 : 0.0;
    j.strategy.fused_kernels.grad_accumulation = dice.coin();
    j.strategy.overlap.grad_reduce = dice.coin();
    j.strategy.overlap.param_gather = dice.coin();
    j.strategy.overlap.tp = dice.of({spec::TpOverlap::none, spec::TpOverlap::wgrad, spec::TpOverlap::userbuffers});
    if (schedule != Schedule::pipedream) j.strategy.optimizer_barrier = dice.coin();
    j.framework.launch = base::us(dice.below(4));
    j.framework.collective_launch = base::us(dice.below(8));
    j.framework.scatter_gather_pipeline = dice.coin();
  });
}

std::string told(const spec::Job& j) {
  return "schedule " + std::to_string(static_cast<int>(j.strategy.schedule)) + " " + walk::told(j);
}

TEST(Schedules, FoldedRunsAreThoseOfEveryRank) {
  walk::Dice dice(90);
  for (int i = 0; i < 60; ++i) {
    spec::Job j = job(dice, kSchedules[i % kSchedules.size()]);
    const double folded = sim::predict(j).prediction.step_time_s;
    j.simulation.unfold = true;
    EXPECT_EQ(sim::predict(j).prediction.step_time_s, folded) << told(j);
    EXPECT_GT(folded, 0);
  }
}

TEST(Schedules, RunToTheirEndOnAnyNumberOfStages) {
  // A message over a link waits for those sent before it: orders of sending and of use must not lock stages up.
  for (const Schedule s : kSchedules) {
    for (const int p : {2, 4, 6, 10, 16, 24}) {
      for (const int m : {2 * p, 2 * p + 2, 5 * p}) {
        const auto many =
            toy::job({.pp = p, .microbatches = m, .schedule = s}, [&](spec::Job& j) { j.model.layers = 2 * p; });
        EXPECT_GT(sim::predict(many).prediction.step_time_s, 0) << told(many);
      }
    }
  }
}

TEST(Schedules, SharesAddUpToTheStep) {
  walk::Dice dice(91);
  for (int i = 0; i < 60; ++i) {
    const spec::Job j = job(dice, kSchedules[i % kSchedules.size()]);
    const auto prediction = sim::predict(j).prediction;
    double sum = 0;
    for (const auto& [name, share] : prediction.breakdown_s) sum += share;
    EXPECT_EQ(sum, prediction.step_time_s) << told(j);
  }
}

TEST(Schedules, ComputeWhat1F1BComputes) {
  // Whatever the order, each microbatch passes each layer once, on one of dualpipe's two copies.
  walk::Dice dice(92);
  for (int i = 0; i < 60; ++i) {
    const spec::Job j = job(dice, kSchedules[i % kSchedules.size()]);
    spec::Job plain = j;
    plain.strategy.schedule = Schedule::one_f_one_b;
    plain.strategy.vpp = 1;
    EXPECT_EQ(walk::flops(plan::build(j)), walk::flops(plan::build(plain))) << told(j);
  }
}

TEST(Schedules, GiveBackWhatTheyTake) {
  walk::Dice dice(93);
  for (int i = 0; i < 60; ++i) {
    const spec::Job j = job(dice, kSchedules[i % kSchedules.size()]);
    const plan::Plan p = plan::build(j);
    for (const plan::Role& role : p.roles) {
      std::array<std::int64_t, plan::kCategories> held = role.resident;
      for (const plan::Call& call : role.calls) {
        for (const plan::MemoryChange& change : p.segments[call.segment].memory) {
          held[static_cast<int>(change.category)] += change.bytes;
        }
      }
      EXPECT_EQ(held, role.resident) << told(j);
    }
  }
}

TEST(Schedules, WeightGradientsKeepTheInputsAndOutputGradientsOfTheirLayers) {
  // Of a layer with h = 256: inputs h, h, h, 4 h and output gradients 3 h, h, 4 h, h of 128 tokens in bf16: 16 h. The
  // whole backward leaves nothing.
  const spec::Job j = toy::job({.pp = 4, .microbatches = 8, .schedule = Schedule::zb_h1});
  const plan::Plan p = plan::build(j);
  std::int64_t input = 0, weights = 0;
  for (const plan::Call& call : p.roles[1].calls) {
    if (call.microbatch != 0) continue;
    const plan::Segment& segment = p.segments[call.segment];
    std::int64_t sum = 0;
    for (const plan::MemoryChange& change : segment.memory) sum += change.bytes;
    if (segment.name == "backward of weights") weights += sum;
    if (segment.name == "backward of inputs") input += sum;
  }
  EXPECT_EQ(weights, -16 * 256 * 128 * 2);
  EXPECT_LT(input, 0);
}

TEST(Schedules, DualPipeHoldsEachChunkTwice) {
  const spec::Job two = toy::job({.pp = 4, .microbatches = 8, .schedule = Schedule::dualpipe});
  const spec::Job one = toy::job({.pp = 4, .microbatches = 8});
  const auto parameters = [](const spec::Job& j) {
    std::int64_t sum = 0;
    const plan::Plan p = plan::build(j);
    for (const plan::Role& role : p.roles) sum += role.resident[static_cast<int>(Category::parameters)];
    return sum;
  };
  EXPECT_EQ(parameters(two), 2 * parameters(one));
}

TEST(Schedules, PipeDreamHasAVersionOfTheWeightsForEachMicrobatchUnderWay) {
  // One microbatch a step: stage s of 4 has forwarded 4 - s microbatches, each with weights of its own.
  const spec::Job j = toy::job({.pp = 4, .microbatches = 1, .schedule = Schedule::pipedream});
  const plan::Plan p = plan::build(j);
  for (const int s : {1, 2}) {
    EXPECT_EQ(p.roles[s].resident[static_cast<int>(Category::parameters)],
              (4 - s) * 2 * walk::parameters(j, p.roles[s]));
  }
}

TEST(Schedules, OneMicrobatchRunsLayerSplitWithoutAPipeline) {
  // Naive model parallelism: with one microbatch 1F1B and GPipe run the stages one after the other.
  const auto length = [](Schedule s, int microbatches) {
    return sim::predict(toy::job({.pp = 4, .microbatches = microbatches, .schedule = s})).prediction;
  };
  const auto one = length(Schedule::one_f_one_b, 1);
  EXPECT_EQ(one.step_time_s, length(Schedule::gpipe, 1).step_time_s);
  EXPECT_LT(length(Schedule::one_f_one_b, 8).bubble_fraction, one.bubble_fraction);
}

}  // namespace
