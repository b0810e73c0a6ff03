// tests/sim/analysis/critical_path_test.cpp -- programs of a few operators whose path can be seen by eye, then whole
// steps. SPDX-License-Identifier: Apache-2.0
#include "sim/analysis/critical_path.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "core/plan/build.h"
#include "sim/pricing/flatten.h"
#include "sim/pricing/prices.h"
#include "tests/sim/analysis/rig_trace.h"
#include "tests/sim/engine/rig.h"
#include "tests/support/toy.h"

namespace {

using plan::event_of;
using plan::Stream;
using rig::on_channel;
using rig::op;
using rig::Programs;
using rig::synchronizing;
using rig::with_host;
using sim::PathPart;
using trace::Ticks;
using Cause = sim::PathPiece::Cause;

constexpr plan::EventId kCompute = event_of(Stream::compute), kTp = event_of(Stream::tp);
constexpr plan::EventId kReceived = event_of(Stream::recv_prev);

/// Time of each operator (by its number among all programs' steps), and of the host and of waiting as -1 and -2.
std::map<int, Ticks> path_of(const sim::EngineInput& in) {
  std::map<int, Ticks> out;
  for (const PathPart& part : sim::critical_path(rig::trace_of(in), in)) {
    out[part.piece.cause == Cause::work ? part.piece.name : part.piece.cause == Cause::host ? -1 : -2] += part.time;
  }
  return out;
}
using Path = std::map<int, Ticks>;

TEST(CriticalPath, FollowsWaitsFromStreamToStream) {
  // 10, then 7 on tp, then 5; the 12 on dp run beside them and end before.
  const Programs p(
      {{op(Stream::compute, 10), op(Stream::tp, 7, {kCompute}), op(Stream::dp, 12), op(Stream::compute, 5, {kTp})}});
  EXPECT_EQ(path_of(p.in), (Path{{0, 10}, {1, 7}, {3, 5}}));
}

TEST(CriticalPath, FollowsThePredecessorOnTheSameStream) {
  // The first of tp is ready at 3 and runs until 23; the second waits for compute until 10, but for its predecessor
  // longer.
  const Programs p({{op(Stream::compute, 3), op(Stream::tp, 20, {kCompute}), op(Stream::compute, 7),
                     op(Stream::tp, 4, {kCompute})}});
  EXPECT_EQ(path_of(p.in), (Path{{0, 3}, {1, 20}, {3, 4}}));
}

TEST(CriticalPath, GoesToTheRankThatArrivesLast) {
  // Rank 0 computes 30 and sends 5; rank 1 has been ready to receive since 0 and computes 8 behind it.
  Programs p({{op(Stream::compute, 30), on_channel(op(Stream::send_next, 5, {kCompute}), 0)},
              {on_channel(op(Stream::recv_prev, 5), 0), op(Stream::compute, 8, {kReceived})}},
             1);
  p.meet(0, {0, 1});
  EXPECT_EQ(path_of(p.in), (Path{{0, 30}, {2, 5}, {3, 8}}));
}

TEST(CriticalPath, ARankWhoseSpansWereNotKeptIsWaitedFor) {
  Programs p({{op(Stream::compute, 30), on_channel(op(Stream::send_next, 5, {kCompute}), 0)},
              {on_channel(op(Stream::recv_prev, 5), 0), op(Stream::compute, 8, {kReceived})}},
             1);
  p.meet(0, {0, 1});
  p.in.instances[0].recorded = false;
  EXPECT_EQ(path_of(p.in), (Path{{-2, 30}, {2, 5}, {3, 8}}));
}

TEST(CriticalPath, ShortKernelsBehindASlowHostAreHostTime) {
  // Issued at 4, 8 and 12; the last one runs from 12 to 13.
  const Programs p({{with_host(op(Stream::compute, 1), 4), with_host(op(Stream::compute, 1), 4),
                     with_host(op(Stream::compute, 1), 4)}});
  EXPECT_EQ(path_of(p.in), (Path{{-1, 12}, {2, 1}}));
}

TEST(CriticalPath, AHostThatWaitedLeadsToWhatItWaitedFor) {
  // Issued at 2 and run until 12; the host goes on there and issues the next one at 16.
  const Programs p({{synchronizing(with_host(op(Stream::compute, 10), 2)), with_host(op(Stream::compute, 3), 4)}});
  EXPECT_EQ(path_of(p.in), (Path{{-1, 2 + 4}, {0, 10}, {1, 3}}));
}

TEST(CriticalPath, ARankWithoutOperatorsHasNone) {
  const Programs p(std::vector<std::vector<sim::Step>>(1));
  EXPECT_TRUE(path_of(p.in).empty());
}

class Steps : public testing::TestWithParam<toy::Cut> {
 protected:
  Steps()
      : job_(toy::job(GetParam(),
                      [](spec::Job& j) {
                        j.framework.launch = j.framework.backward_launch = base::us(3);
                        j.framework.collective_launch = base::us(5);
                        j.framework.step = base::us(20);
                      })),
        plan_(plan::build(job_)),
        prices_(sim::prices_of(plan_, job_.cluster)),
        in_(sim::flatten(plan_, prices_, job_)),
        trace_(sim::to_trace(plan_, in_, sim::run(in_))) {}

  const spec::Job job_;
  const plan::Plan plan_;
  const std::vector<base::Seconds> prices_;
  const sim::EngineInput in_;
  const trace::Trace trace_;
};

class Rolling : public testing::TestWithParam<spec::Schedule> {};

TEST_P(Steps, ThePiecesAddUpToTheStepAndNothingIsUnexplained) {
  // Folded, the spans of every role are kept, so the path always finds whom it waited for.
  Ticks sum = 0;
  for (const PathPart& part : sim::critical_path(trace_, in_)) {
    EXPECT_NE(part.piece.cause, Cause::waiting) << trace_.names[part.piece.name] << ' ' << part.time;
    EXPECT_GT(part.count, 0);
    sum += part.time;
  }
  EXPECT_EQ(sum, trace_.length);
  EXPECT_GT(sum, 0);
}

TEST_P(Rolling, ItGoesOnInTheStepBeforeWhereARanksClockBegins) {
  // Their host is as good as free, so that nothing of the filling pipeline is left to it.
  const spec::Job job = toy::job({.pp = 2, .microbatches = 8, .schedule = GetParam()},
                                 [](spec::Job& j) { j.strategy.optimizer_barrier = false; });
  const plan::Plan plan = plan::build(job);
  ASSERT_TRUE(plan.rolling);
  const sim::EngineInput in = sim::flatten(plan, sim::prices_of(plan, job.cluster), job);
  const trace::Trace trace = sim::to_trace(plan, in, sim::run(in));
  Ticks sum = 0, host = 0;
  for (const PathPart& part : sim::critical_path(trace, in)) {
    sum += part.time;
    host += part.piece.cause == Cause::host ? part.time : 0;
  }
  EXPECT_EQ(sum, trace.length);
  EXPECT_LT(host, trace.length / 100);
}
INSTANTIATE_TEST_SUITE_P(CriticalPath, Rolling,
                         testing::Values(spec::Schedule::zb_h1, spec::Schedule::zb_h2, spec::Schedule::zb_v,
                                         spec::Schedule::pipedream));

TEST_P(Steps, WhatIsOnThePathSlowsTheStepByAsMuchAsItIsSlowed) {
  // Without contention a step is as long as its longest chain of causes, so a chain that grows by 1 us for each of its
  // n operators of one work makes a step that is at least n us longer.
  constexpr Ticks us = 1'000'000;
  std::map<int, std::int64_t> counts;
  for (const PathPart& part : sim::critical_path(trace_, in_)) {
    if (part.piece.cause == Cause::work) counts[part.piece.work] += part.count;
  }
  ASSERT_GE(counts.size(), 5u);
  for (const auto& [work, count] : counts) {
    auto slower = prices_;
    slower[work] += base::us(1);
    EXPECT_GE(sim::run(sim::flatten(plan_, slower, job_)).end, trace_.length + count * us) << work << " x " << count;
  }
}

INSTANTIATE_TEST_SUITE_P(
    CriticalPath, Steps,
    testing::Values(toy::Cut{}, toy::Cut{.tp = 2, .sp = true, .dp = 2, .zero = 1, .microbatches = 4},
                    toy::Cut{.pp = 4, .microbatches = 8}, toy::Cut{.pp = 2, .vpp = 2, .dp = 2, .microbatches = 4},
                    toy::Cut{.tp = 2, .pp = 4, .microbatches = 8, .schedule = spec::Schedule::gpipe}));

}  // namespace
