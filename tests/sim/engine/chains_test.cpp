// tests/sim/engine/chains_test.cpp -- which kernels become one step, and that the run stays the same.
// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/chains.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/plan/build.h"
#include "sim/memory/ledger.h"
#include "sim/predict.h"
#include "sim/pricing/flatten.h"
#include "sim/pricing/prices.h"
#include "tests/sim/engine/rig.h"
#include "tests/sim/random_jobs.h"

namespace {

using plan::Stream;
using rig::holding;
using rig::op;
using rig::Programs;
using rig::with_host;
using sim::Step;
using trace::Ticks;

constexpr plan::EventId kCompute = plan::event_of(Stream::compute), kTp = plan::event_of(Stream::tp);

Step kernel(Ticks duration, std::vector<plan::EventId> waits = {}) {
  return holding(op(Stream::compute, duration, std::move(waits)), sim::resource::kCompute);
}

std::vector<int> chained(Programs& p) {
  sim::chain(p.in);
  std::vector<int> operators;
  for (const Step& step : p.in.steps) operators.push_back(step.operators);
  return operators;
}

TEST(Chains, KernelsWithoutAGapAreOneStep) {
  Programs p({{kernel(10), kernel(20), kernel(5)}});
  EXPECT_EQ(chained(p), std::vector<int>{3});
  EXPECT_EQ(p.in.steps[0].duration, 35);
  EXPECT_EQ(p.in.first_operator, std::vector<std::int32_t>{0});
  EXPECT_EQ(p.in.lead, (std::vector<Ticks>{0, 10, 30}));
  const sim::EngineOutput out = sim::run(p.in);
  EXPECT_EQ(out.end, 35);
  EXPECT_EQ(out.completed, 3);
}

TEST(Chains, AKernelThatWaitsBeginsOne) {
  Programs p({{kernel(10), op(Stream::tp, 7, {kCompute}), kernel(20, {kTp}), kernel(5)}});
  EXPECT_EQ(chained(p), (std::vector<int>{1, 1, 2}));
}

TEST(Chains, AKernelThatIsWaitedForEndsOne) {
  // The tp stream waits for the first two; the kernels behind it run beside it.
  Programs p({{kernel(10), kernel(20), op(Stream::tp, 7, {kCompute}), kernel(5), kernel(6)}});
  EXPECT_EQ(chained(p), (std::vector<int>{2, 1, 2}));
  EXPECT_EQ(sim::run(p.in).end, 41);
}

TEST(Chains, AnEventOfTheirOwnEndsThemToo) {
  Programs p({{kernel(10), rig::recording(kernel(20), 20), kernel(5), op(Stream::tp, 7, {20})}});
  EXPECT_EQ(chained(p), (std::vector<int>{2, 1, 1}));
  EXPECT_EQ(sim::run(p.in).end, 37);  // tp from 30 on
}

TEST(Chains, CommunicationThatWaitsForNoKernelLetsThemGrow) {
  Programs p({{kernel(10), op(Stream::tp, 7), kernel(5)}});
  EXPECT_EQ(chained(p), (std::vector<int>{2, 1}));
}

TEST(Chains, NoneGoesOnWhereTheHostIsBehind) {
  // Launches take 15: the second kernel, issued 15 behind the first, would start 5 after its end. The third, issued at
  // 15 + 15, comes before the end of the second at 45 + 100.
  Programs p({{with_host(kernel(10), 15), with_host(kernel(100), 15), with_host(kernel(5), 15)}});
  EXPECT_EQ(chained(p), (std::vector<int>{1, 2}));
  EXPECT_EQ(sim::run(p.in).end, 135);  // issued at 15, 30 and 45
}

TEST(Chains, WhatIsIssuedBehindAChainIsIssuedNoEarlier) {
  // As without chains, tp is issued at 1 + 2 + 3 = 6 and dp, behind the last kernel's launch, at 6 + 4 + 5 = 15.
  Programs p({{with_host(kernel(100), 1), with_host(kernel(100), 2), with_host(op(Stream::tp, 7), 3),
               with_host(kernel(100), 4), with_host(op(Stream::dp, 9), 5)}});
  EXPECT_EQ(chained(p), (std::vector<int>{3, 1, 1}));
  const sim::EngineOutput out = sim::run(p.in);
  EXPECT_EQ(rig::spans(out, 0, Stream::tp)[0].start, 6);
  EXPECT_EQ(rig::spans(out, 0, Stream::dp)[0].start, 15);
}

TEST(Chains, AFullLaunchQueueLetsTheHostGoOnAsOperatorByOperator) {
  // 4,000 kernels of 60 fill the queue of 1,024, 1,500 of 10 empty it, for a launch takes 40; ten times over. Each time
  // the device waits for what the host had not launched ahead, (1,500 - 1,024) x 40 - 1,500 x 10 or so. With chains the
  // host goes on when 32 kernels have left the queue instead of one: up to 32 launches a round.
  constexpr int kRounds = 10, kSlow = 4000, kQuick = 1500;
  std::vector<Step> steps;
  for (int round = 0; round < kRounds; ++round) {
    steps.insert(steps.end(), kSlow, with_host(kernel(60), 40));
    steps.insert(steps.end(), kQuick, with_host(kernel(10), 40));
  }
  Programs plain({steps}), fast({steps});
  const std::vector<int> lengths = chained(fast);
  EXPECT_EQ(*std::max_element(lengths.begin(), lengths.end()), 32);
  const Ticks whole = sim::run(plain.in).end;
  EXPECT_GT(whole, kRounds * (kSlow * 60 + kQuick * 10 + 2000));  // the device does wait
  EXPECT_NEAR(static_cast<double>(sim::run(fast.in).end), static_cast<double>(whole), kRounds * 32 * 40);
}

TEST(Chains, DrawnTimesAndFasterRanksLeaveEveryKernelByItself) {
  Programs jittered({{kernel(10), kernel(20)}});
  jittered.in.sampled_jitter = 0.1;
  EXPECT_EQ(chained(jittered), (std::vector<int>{1, 1}));
  Programs fast({{kernel(10), kernel(20)}});
  fast.in.instances[0].compute_factor = 0.9;
  EXPECT_EQ(chained(fast), (std::vector<int>{1, 1}));
}

spec::Job random_job(random_jobs::Source& source) {
  spec::Job job = source.job();
  job.simulation.unfold = source.below(4) == 0;
  if (source.below(4) == 0) job.simulation.slow_ranks = {{0, 1.5}};
  return job;
}

TEST(Chains, APredictionIsTheSameAsOperatorByOperator) {
  random_jobs::Source source(11);
  for (int n = 0; n < 300; ++n) {
    const spec::Job job = random_job(source);
    const result::Prediction whole = sim::predict(job).prediction;
    const result::Prediction fast = sim::predict(job, sim::Detail::chains).prediction;
    // Every change of pace may round by a picosecond; steps are about 1e10 of them.
    const double tolerance = 1e-7 * whole.step_time_s;
    ASSERT_NEAR(fast.step_time_s, whole.step_time_s, tolerance) << n << ": " << random_jobs::text(job);
    ASSERT_EQ(fast.breakdown_s.size(), whole.breakdown_s.size());
    for (std::size_t k = 0; k < whole.breakdown_s.size(); ++k) {
      ASSERT_NEAR(fast.breakdown_s[k].second, whole.breakdown_s[k].second, tolerance)
          << whole.breakdown_s[k].first << ' ' << n << ": " << random_jobs::text(job);
    }
    ASSERT_EQ(fast.peak_bytes, whole.peak_bytes);
    ASSERT_EQ(fast.communication.size(), whole.communication.size());
    for (std::size_t a = 0; a < whole.communication.size(); ++a) {
      ASSERT_EQ(fast.communication[a].bytes, whole.communication[a].bytes);
      ASSERT_NEAR(fast.communication[a].time_s, whole.communication[a].time_s, 20 * tolerance);
    }
    for (std::size_t s = 0; s < whole.stages.size(); ++s) {
      ASSERT_NEAR(fast.stages[s].peak_time_s, whole.stages[s].peak_time_s, 1e-3 * whole.step_time_s);
    }
  }
}

TEST(Chains, EveryOperatorIsInOneStepOfItsStream) {
  random_jobs::Source source(12);
  for (int n = 0; n < 50; ++n) {
    const spec::Job job = random_job(source);
    const plan::Plan plan = plan::build(job);
    const sim::EngineInput whole = sim::flatten(plan, sim::prices_of(plan, job.cluster), job);
    sim::EngineInput fast = whole;
    sim::chain(fast);
    std::array<Ticks, plan::kStreams> time{}, chained{};
    for (const Step& step : whole.steps) time[step.stream] += step.duration;
    std::size_t operators = 0;
    for (const Step& step : fast.steps) {
      chained[step.stream] += step.duration;
      operators += step.operators;
    }
    EXPECT_EQ(time, chained);
    EXPECT_EQ(operators, whole.steps.size());
    EXPECT_EQ(sim::run(fast).completed, sim::run(whole).completed);
  }
}

}  // namespace
