// SPDX-License-Identifier: Apache-2.0
#include "sim/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/plan/schedule/schedule.h"
#include "sim/predict.h"
#include "tests/support/toy.h"

namespace {

using plan::Pass;
using plan::Slot;
using result::PassKind;
using result::Schedule;
using result::SchedulePass;

PassKind kind_of(Pass pass) {
  switch (pass) {
    case Pass::forward: return PassKind::forward;
    case Pass::backward:
    case Pass::input_gradient: return PassKind::backward;
    case Pass::weight_gradient: return PassKind::weight_gradient;
    default: return PassKind::vocabulary;
  }
}

/// "F0 B0": what a stage runs, without the ends of the step.
std::vector<SchedulePass> inner(const result::StageSchedule& stage) {
  std::vector<SchedulePass> out;
  for (const SchedulePass& pass : stage.passes) {
    if (pass.kind != PassKind::ends) out.push_back(pass);
  }
  return out;
}

void expect_order(const Schedule& schedule, const std::vector<std::vector<Slot>>& orders) {
  ASSERT_EQ(schedule.stages.size(), orders.size());
  for (std::size_t s = 0; s < orders.size(); ++s) {
    const auto passes = inner(schedule.stages[s]);
    ASSERT_EQ(passes.size(), orders[s].size()) << "stage " << s;
    for (std::size_t i = 0; i < passes.size(); ++i) {
      EXPECT_EQ(passes[i].kind, kind_of(orders[s][i].pass)) << "stage " << s << " pass " << i;
      EXPECT_EQ(passes[i].microbatch, orders[s][i].microbatch) << "stage " << s << " pass " << i;
      EXPECT_EQ(passes[i].chunk, orders[s][i].chunk) << "stage " << s << " pass " << i;
    }
  }
}

TEST(ScheduleOf, AStageRunsThePassesOfItsOrder) {
  using S = spec::Schedule;
  for (const S kind : {S::gpipe, S::one_f_one_b, S::zb_h1, S::zb_h2}) {
    const Schedule schedule = sim::schedule_of(toy::job({.pp = 4, .microbatches = 8, .schedule = kind}));
    expect_order(schedule, plan::orders(kind, {.stages = 4, .microbatches = 8}));
  }
}

TEST(ScheduleOf, ChunksAreTold) {
  const Schedule schedule = sim::schedule_of(toy::job({.pp = 2, .vpp = 2, .microbatches = 4}));
  EXPECT_EQ(schedule.name, "interleaved");
  EXPECT_EQ(schedule.chunks, 2);
  expect_order(schedule, plan::orders(spec::Schedule::interleaved, {.stages = 2, .chunks = 2, .microbatches = 4}));
}

TEST(ScheduleOf, MemoryIsThatOfThePredictionAndOnlyWhereAskedFor) {
  const spec::Job job = toy::job({.pp = 2, .microbatches = 4});
  const sim::Outcome whole = sim::predict(job, sim::Detail::operators);
  const Schedule schedule = sim::schedule_of(job, true);
  ASSERT_EQ(schedule.stages.size(), whole.trace.memory.size());
  for (std::size_t i = 0; i < schedule.stages.size(); ++i) {
    const auto& points = whole.trace.memory[i].points;
    ASSERT_EQ(schedule.stages[i].memory.size(), points.size());
    for (std::size_t k = 0; k < points.size(); ++k) EXPECT_EQ(schedule.stages[i].memory[k].bytes, points[k].bytes);
  }
  EXPECT_EQ(schedule.capacity_bytes, whole.prediction.capacity_bytes);
  EXPECT_TRUE(sim::schedule_of(job).stages[0].memory.empty());
}

TEST(ScheduleOf, PassesOfAStageFollowOneAnotherAndFillItsBusyTime) {
  // One GPU is never idle between passes: what they leave of the step is launch and the framework's own time, and the
  // toy's framework costs nothing.
  const Schedule schedule = sim::schedule_of(toy::job({.microbatches = 3}));
  double busy = 0, at = 0;
  for (const SchedulePass& pass : schedule.stages[0].passes) {
    EXPECT_GE(pass.start_s, at);
    at = pass.end_s;
    busy += pass.end_s - pass.start_s;
  }
  EXPECT_NEAR(busy, schedule.step_time_s, 1e-6 * schedule.step_time_s);
}

TEST(ScheduleOf, DualpipeRunsForwardsBesideBackwardsInBothDirections) {
  const Schedule schedule =
      sim::schedule_of(toy::job({.pp = 4, .microbatches = 16, .schedule = spec::Schedule::dualpipe}));
  EXPECT_TRUE(schedule.beside);
  EXPECT_TRUE(schedule.two_way);
  // Eight microbatches each way go forward through both chunks of every stage, and come back.
  for (const result::StageSchedule& stage : schedule.stages) {
    for (const int chunk : {0, 1}) {
      for (const PassKind kind : {PassKind::forward, PassKind::backward}) {
        EXPECT_EQ(std::count_if(stage.passes.begin(), stage.passes.end(),
                                [&](const SchedulePass& p) { return p.kind == kind && p.chunk == chunk; }),
                  8)
            << "stage " << stage.stage;
      }
    }
  }
  const auto& passes = schedule.stages[1].passes;
  const auto overlap = [](const SchedulePass& a, const SchedulePass& b) {
    return a.kind == PassKind::forward && b.kind == PassKind::backward && a.chunk != b.chunk && b.start_s < a.end_s &&
           a.start_s < b.end_s;
  };
  const bool beside = std::any_of(passes.begin(), passes.end(), [&](const SchedulePass& a) {
    return std::any_of(passes.begin(), passes.end(), [&](const SchedulePass& b) { return overlap(a, b); });
  });
  EXPECT_TRUE(beside);
}

TEST(ScheduleOf, TellsThePredictionsOwnStepAndBubble) {
  const spec::Job job = toy::job({.pp = 4, .microbatches = 8});
  const Schedule schedule = sim::schedule_of(job);
  const result::Prediction prediction = sim::predict(job).prediction;
  EXPECT_EQ(schedule.step_time_s, prediction.step_time_s);
  EXPECT_EQ(schedule.bubble_fraction, prediction.bubble_fraction);
}

}  // namespace
