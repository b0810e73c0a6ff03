// SPDX-License-Identifier: Apache-2.0
#include "sim/explain.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sim/predict.h"
#include "tests/support/toy.h"

namespace {

using result::Explanation;

double sum_of(const std::vector<result::PathShare>& shares) {
  double sum = 0;
  for (const auto& share : shares) sum += share.time_s;
  return sum;
}

double time_of(const Explanation& e, const std::string& category) {
  const auto at =
      std::find_if(e.categories.begin(), e.categories.end(), [&](const auto& c) { return c.name == category; });
  return at == e.categories.end() ? 0 : at->time_s;
}

TEST(Explain, TellsTheStepOfThePrediction) {
  const spec::Job job = toy::job({.tp = 2, .pp = 2, .microbatches = 4});
  const Explanation e = sim::explain(job);
  const result::Prediction p = sim::predict(job).prediction;
  EXPECT_EQ(e.step_time_s, p.step_time_s);
  EXPECT_EQ(e.job, p.job);
}

TEST(Explain, EveryViewAddsUpToTheStep) {
  const Explanation e = sim::explain(toy::job({.tp = 2, .pp = 2, .dp = 2, .zero = 1, .microbatches = 4}));
  const double rounding = e.step_time_s * 1e-12;
  EXPECT_NEAR(sum_of(e.categories), e.step_time_s, rounding);
  EXPECT_NEAR(sum_of(e.stages), e.step_time_s, rounding);
  double operators = 0;
  for (const auto& op : e.operators) operators += op.time_s;
  EXPECT_NEAR(operators, e.step_time_s, rounding);
}

TEST(Explain, WithoutABarrierThePathIsTheBusiestRanksShareOfTheStep) {
  // Each rank's clock starts later than the one's before it, yet a path that leaves a rank comes to the one it waited
  // for, and where a rank's clock starts it goes on at the end of its step before. All is work, but what a rank that is
  // done sooner than the busiest one waits for its next step; the toy's host costs nothing.
  using enum spec::Schedule;
  for (const spec::Schedule schedule : {zb_h1, zb_h2, zb_v, pipedream}) {
    const Explanation e = sim::explain(toy::job({.pp = 4, .microbatches = 12}, [schedule](spec::Job& j) {
      j.model.layers = 8;
      j.strategy.schedule = schedule;
      if (schedule == zb_v) j.strategy.vpp = 2;
    }));
    EXPECT_NEAR(sum_of(e.categories), e.step_time_s, e.step_time_s * 1e-12) << spec::name(schedule);
    EXPECT_LT(time_of(e, "waiting"), 0.02 * e.step_time_s) << spec::name(schedule);
    EXPECT_EQ(time_of(e, "host"), 0) << spec::name(schedule);
    EXPECT_GT(time_of(e, "matmul"), 0.5 * e.step_time_s) << spec::name(schedule);
  }
}

TEST(Explain, OnOneStreamWhatIsFreeSavesExactlyItsOwnTime) {
  // One GPU, a host that costs nothing: all kernels run one behind the other.
  const Explanation e = sim::explain(toy::job({.microbatches = 2}));
  ASSERT_GE(e.what_if.size(), 4u);  // attention, host, matmul, memory_bound at least
  for (const result::WhatIf& one : e.what_if) {
    EXPECT_NEAR(e.step_time_s - one.step_time_s, time_of(e, one.free), e.step_time_s * 1e-12) << one.free;
  }
  EXPECT_GT(time_of(e, "matmul"), 0);
}

TEST(Explain, AFreeHostLeavesNoHostOnThePath) {
  // 40 us a launch is longer than any kernel of the toy: the step waits for the host nearly all the time.
  const Explanation e =
      sim::explain(toy::job({}, [](spec::Job& j) { j.framework.launch = j.framework.backward_launch = base::us(40); }));
  EXPECT_GT(time_of(e, "host"), 0.9 * e.step_time_s);
  const auto host = std::find_if(e.what_if.begin(), e.what_if.end(), [](const auto& w) { return w.free == "host"; });
  ASSERT_NE(host, e.what_if.end());
  EXPECT_EQ(host->step_time_s, sim::explain(toy::job()).step_time_s);
}

TEST(Explain, WhatIsFreeNeverStretchesAPipelineThatRolls) {
  // Without a barrier the step is the period of a pipeline that rolls on, not the time to its last operator.
  const Explanation e = sim::explain(toy::job({.pp = 4, .microbatches = 12, .schedule = spec::Schedule::zb_h2},
                                              [](spec::Job& j) { j.strategy.optimizer_barrier = false; }));
  ASSERT_GE(e.what_if.size(), 5u);  // pp besides
  for (const result::WhatIf& one : e.what_if) EXPECT_LE(one.step_time_s, e.step_time_s * (1 + 1e-12)) << one.free;
}

TEST(Explain, ASlowRankOfAnotherReplicaIsFound) {
  // Rank 3 is the second replica of stage 1 (tp 1, dp 2, pp 2), which no role shows; everyone waits for it in the end.
  const auto slow = [](spec::Job& j) { j.simulation.slow_ranks = {{3, 5.0}}; };
  const Explanation e = sim::explain(toy::job({.pp = 2, .dp = 2, .microbatches = 4}, slow));
  EXPECT_EQ(time_of(e, "waiting"), 0);
  ASSERT_FALSE(e.stages.empty());
  EXPECT_EQ(e.stages.front().name, "1");
  EXPECT_GT(e.stages.front().time_s, 0.5 * e.step_time_s);
}

TEST(Explain, NoMatmulIsFasterThanThePeak) {
  int matmuls = 0;
  for (const result::PathOperator& op : sim::explain(toy::job()).operators) {
    EXPECT_NEAR(op.mean_s * static_cast<double>(op.count), op.time_s, 1e-15);
    if (op.category != "matmul") continue;
    ++matmuls;
    EXPECT_EQ(op.rate_unit, "FLOP/s");
    EXPECT_NEAR(op.of_peak, op.rate / 1e15, 1e-9);  // the toy's peak is 1 PFLOP/s
    EXPECT_LE(op.of_peak, 1);
  }
  EXPECT_GT(matmuls, 0);
}

TEST(Explain, WhatAStepsBeginningCutsHasNoHigherRate) {
  // Without a barrier a stage's step begins amid what another one does: a piece of it has that piece's share of the
  // work.
  using enum spec::Schedule;
  for (const spec::Schedule schedule : {zb_h1, zb_h2, pipedream}) {
    for (const int stages : {2, 3, 4}) {
      const Explanation e =
          sim::explain(toy::job({.tp = 2, .pp = stages, .zero = 1, .microbatches = 6}, [&](spec::Job& j) {
            j.model.layers = 12;
            j.strategy.schedule = schedule;
          }));
      for (const result::PathOperator& op : e.operators)
        EXPECT_LE(op.of_peak, 1.0001) << spec::name(schedule) << ' ' << stages << ' ' << op.name;
    }
  }
}

}  // namespace
