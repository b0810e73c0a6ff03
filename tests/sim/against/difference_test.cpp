// SPDX-License-Identifier: Apache-2.0
#include "sim/against/difference.h"

#include <gtest/gtest.h>

#include <random>

#include "core/base/fault.h"
#include "tests/sim/against/rank_trace.h"

namespace {

using result::DifferencePart;
using result::StepDifference;
using testing_support::RankTrace;
using Kind = DifferencePart::Kind;

DifferencePart part(const std::vector<DifferencePart>& parts, Kind kind, const std::string& family,
                    const std::string& name = "") {
  for (const DifferencePart& one : parts) {
    if (one.kind == kind && one.family == family && (name.empty() || one.name == name)) return one;
  }
  ADD_FAILURE() << "no part " << family << ' ' << name;
  return {};
}

void expect_exact(const StepDifference& d) {
  for (const auto& parts : {d.families, d.by_operator ? d.parts : d.families}) {
    std::int64_t predicted = 0, measured = 0;
    for (const DifferencePart& one : parts) {
      predicted += one.predicted.in_step_ps;
      measured += one.measured.in_step_ps;
    }
    EXPECT_EQ(predicted, d.predicted_ps);
    EXPECT_EQ(measured, d.measured_ps);
  }
}

/// Two layers: each is gathered while the one before computes.
///   compute  a0 100..300   a1 300..500
///   dp       g0 0..100     g1 100..200 (hidden by a0)
RankTrace predicted() {
  return RankTrace()
      .gather("gather", 0, 0, 100, 0)
      .compute("layer", 100, 300, 0)
      .gather("gather", 100, 100, 200, 1)
      .compute("layer", 300, 500, 1);
}

TEST(StepDifference, OfAStepWithItselfIsNothing) {
  const StepDifference d = sim::difference(predicted().recorded(), predicted().recorded());
  EXPECT_EQ(d.difference_ps(), 0);
  for (const DifferencePart& one : d.parts) EXPECT_EQ(one.difference_ps(), 0);
  EXPECT_EQ(d.operators.size(), 4u);
  expect_exact(d);
}

TEST(StepDifference, ASlowAllGatherCountsAsFarAsNothingHidesIt) {
  // Every gather takes 2.1 times as long: g0 0..210, a0 210..410, g1 210..420, a1 420..620. The step takes 120 more:
  // 110 of g0, and 10 of g1, which a0 hides up to 410.
  const RankTrace slow = RankTrace()
                             .gather("gather", 0, 0, 210, 0)
                             .compute("layer", 210, 410, 0)
                             .gather("gather", 210, 210, 420, 1)
                             .compute("layer", 420, 620, 1);
  const StepDifference d = sim::difference(predicted().recorded(), slow.recorded());
  EXPECT_EQ(d.difference_ps(), 120);
  const DifferencePart gather = part(d.parts, Kind::operators, "all_gather dp", "gather");
  EXPECT_EQ(gather.predicted.busy_ps, 200);
  EXPECT_EQ(gather.measured.busy_ps, 420);
  EXPECT_EQ(gather.difference_ps(), 120);
  EXPECT_EQ(part(d.families, Kind::operators, "matmul").difference_ps(), 0);
  EXPECT_EQ(d.parts.front().family, "all_gather dp");  // the largest first
  expect_exact(d);
}

TEST(StepDifference, AnOperatorThatIsMissingIsTheMeasurementsGain) {
  // Layer 1 was not run: 200 less.
  const RankTrace shorter =
      RankTrace().gather("gather", 0, 0, 100, 0).compute("layer", 100, 300, 0).gather("gather", 100, 100, 200, 1);
  const StepDifference d = sim::difference(predicted().recorded(), shorter.recorded());
  EXPECT_EQ(d.difference_ps(), -200);
  EXPECT_EQ(part(d.parts, Kind::only_predicted, "matmul", "layer").difference_ps(), -200);
  EXPECT_EQ(part(d.parts, Kind::operators, "matmul", "layer").predicted.count, 1);
  expect_exact(d);
}

TEST(StepDifference, AnOperatorThatNobodyPredictedIsToldApart) {
  RankTrace longer = predicted();
  longer.compute("surprise", 500, 530);
  const StepDifference d = sim::difference(predicted().recorded(), longer.recorded());
  EXPECT_EQ(part(d.parts, Kind::only_measured, "matmul", "surprise").difference_ps(), 30);
  EXPECT_EQ(d.difference_ps(), 30);
  expect_exact(d);
}

TEST(StepDifference, ALaunchGapIsTheOperatorsBehindIt) {
  // 5 before the first layer and 7 before the second, with nothing else under way.
  const RankTrace gaps = RankTrace()
                             .gather("gather", 0, 0, 100, 0)
                             .compute("layer", 105, 305, 0)
                             .gather("gather", 105, 105, 205, 1)
                             .compute("layer", 312, 512, 1);
  const StepDifference d = sim::difference(predicted().recorded(), gaps.recorded());
  const DifferencePart idle = part(d.parts, Kind::idle, "idle", "layer");
  EXPECT_EQ(idle.predicted.in_step_ps, 0);
  EXPECT_EQ(idle.measured.in_step_ps, 12);
  EXPECT_EQ(idle.measured.count, 2);
  EXPECT_EQ(d.difference_ps(), 12);
  expect_exact(d);
}

TEST(StepDifference, BothStepsBeginWithTheirFirstOperator) {
  RankTrace later = predicted();
  for (trace::Track& track : later.recorded().trace.tracks) {
    for (trace::Span& span : track.spans) span.ready += 1000, span.start += 1000, span.end += 1000;
  }
  EXPECT_EQ(sim::difference(predicted().recorded(), later.recorded()).difference_ps(), 0);
}

TEST(StepDifference, WaitingIsAPartOfItsOwnWhereTheRecordTellsIt) {
  // A receive is posted at 5. Predicted: comes at 20, takes 10; measured: comes at 50, takes 13.
  const RankTrace here = RankTrace().compute("first", 0, 5).receive("receive", 5, 20, 30).compute("layer", 30, 40);
  const RankTrace there = RankTrace().compute("first", 0, 5).receive("receive", 5, 50, 63).compute("layer", 63, 73);
  const StepDifference d = sim::difference(here.recorded(), there.recorded());
  EXPECT_EQ(part(d.parts, Kind::waiting, "send_recv pp", "receive").difference_ps(), 30);
  const DifferencePart transfer = part(d.parts, Kind::operators, "send_recv pp", "receive");
  EXPECT_EQ(transfer.predicted.busy_ps, 10);
  EXPECT_EQ(transfer.measured.busy_ps, 13);
  EXPECT_EQ(transfer.difference_ps(), 3);
  expect_exact(d);
}

TEST(StepDifference, WaitingIsInTheTimeOfBothSidesWhereTheRecordDoesNotTellIt) {
  // An NCCL kernel waits for the others while it runs: 5..35 predicted as 20 of waiting and 10, 5..68 measured.
  const RankTrace here = RankTrace().compute("first", 0, 5).gather("gather", 5, 25, 35).compute("layer", 35, 45);
  const RankTrace there = RankTrace().compute("first", 0, 5).gather("gather", 5, 5, 68).compute("layer", 68, 78);
  const StepDifference d = sim::difference(here.recorded(), there.recorded());
  const DifferencePart gather = part(d.parts, Kind::operators, "all_gather dp", "gather");
  EXPECT_EQ(gather.predicted.busy_ps, 30);
  EXPECT_EQ(gather.predicted.waiting_ps, 20);
  EXPECT_EQ(gather.difference_ps(), 33);
  for (const DifferencePart& one : d.parts) EXPECT_NE(one.kind, Kind::waiting);
  expect_exact(d);
}

TEST(StepDifference, TheRankThatWorksLongestIsToldUnlessOneIsNamed) {
  const RankTrace both =
      RankTrace().compute("layer", 0, 10).at_rank(0, 0).beside(RankTrace().compute("layer", 0, 30).at_rank(4, 1));
  EXPECT_EQ(sim::difference(both.recorded(), both.recorded()).rank, 4);
  const StepDifference first = sim::difference(both.recorded(), both.recorded(), 0);
  EXPECT_EQ(first.rank, 0);
  EXPECT_EQ(part(first.parts, Kind::idle, "idle", "the end of the step").measured.in_step_ps, 20);
  expect_exact(first);
}

TEST(StepDifference, ARankWithoutAPredictionIsHeldAgainstItsStage) {
  // The prediction shows rank 4 for stage 1, the record rank 6.
  const RankTrace here =
      RankTrace().compute("layer", 0, 5).at_rank(0, 0).beside(RankTrace().compute("layer", 0, 30).at_rank(4, 1));
  const StepDifference d =
      sim::difference(here.recorded(), RankTrace().compute("layer", 0, 31).at_rank(6, 1).recorded());
  EXPECT_EQ(part(d.parts, Kind::operators, "matmul", "layer").predicted.busy_ps, 30);
}

/// The same step as kernels, on streams that the profiler numbers.
RankTrace kernels() {
  RankTrace out;
  out.gather("ncclDevKernel_AllGather", 0, 0, 210, 0)
      .compute("nvjet_a", 210, 412, 0)
      .gather("ncclDevKernel_AllGather", 210, 210, 420, 1)
      .compute("nvjet_b", 420, 622, 1);
  out.recorded().source = "kineto";
  return out;
}

TEST(StepDifference, OfKernelsIsToldByFamily) {
  // Matmuls 404 instead of 400; gathers 420 instead of 200, of which 210 and 8 are not hidden.
  const StepDifference d = sim::difference(predicted().recorded(), kernels().recorded());
  EXPECT_FALSE(d.by_operator);
  const DifferencePart gather = part(d.families, Kind::operators, "all_gather of 8");
  EXPECT_EQ(gather.predicted.busy_ps, 200);
  EXPECT_EQ(gather.measured.busy_ps, 420);
  EXPECT_EQ(gather.difference_ps(), 118);
  EXPECT_EQ(part(d.families, Kind::operators, "matmul").difference_ps(), 4);
  ASSERT_EQ(d.kernels.size(), 3u);
  EXPECT_EQ(d.kernels.front().name, "ncclDevKernel_AllGather");
  EXPECT_TRUE(d.parts.empty());
  expect_exact(d);
}

TEST(StepDifference, CollectivesHaveNoSizeWhereOneOfTheRecordHasNone) {
  trace::Recorded unsized = kernels().recorded();
  for (trace::WorkKind& kind : unsized.kinds) kind.ranks = 0;
  const StepDifference d = sim::difference(predicted().recorded(), unsized);
  EXPECT_EQ(part(d.families, Kind::operators, "all_gather").predicted.count, 2);
}

TEST(StepDifference, OtherKernelsThanPredictedAreDoubted) {
  EXPECT_TRUE(sim::difference(predicted().recorded(), kernels().recorded()).notes.empty());
  RankTrace other = kernels();
  for (int i = 0; i < 3; ++i) other.compute("nvjet_c", 622 + i, 623 + i);
  EXPECT_EQ(
      sim::difference(predicted().recorded(), other.recorded()).notes,
      std::vector<std::string>{"5 matmuls were recorded where 2 are predicted: of another job, or not one whole step"});
}

TEST(StepDifference, ThePeriodOfARecordIsItsStep) {
  // The next step began 78 after the last kernel had ended.
  trace::Recorded record = kernels().recorded();
  record.period = 700;
  const StepDifference d = sim::difference(predicted().recorded(), record);
  EXPECT_EQ(d.measured_ps, 700);
  EXPECT_EQ(part(d.families, Kind::idle, "idle").measured.in_step_ps, 78);
  expect_exact(d);
}

TEST(StepDifference, WhatTheHostDoesBetweenStepsIsInBothOrInNeither) {
  // A step is 50 longer than its operators, from the host's first to the next step's.
  RankTrace whole = predicted();
  whole.recorded().trace.length += 50;
  trace::Recorded record = kernels().recorded();
  const auto step = [&] { return sim::difference(whole.recorded(), record).predicted_ps; };
  const trace::Ticks operators = step();
  record.period = 700;
  EXPECT_EQ(step(), operators + 50);
}

TEST(StepDifference, AddsUpOnRandomSteps) {
  std::mt19937 random(11);
  const auto upto = [&](int most) { return static_cast<trace::Ticks>(random() % (most + 1)); };
  const auto step = [&] {
    RankTrace rank;
    trace::Ticks at[3] = {upto(9), upto(9), upto(9)};
    for (int i = 0; i < 30; ++i) {
      trace::Ticks& here = at[random() % 3];
      const trace::Ticks ready = here + upto(9), start = ready + upto(9), end = start + upto(30);
      const std::string name = "op " + std::to_string(random() % 5);
      if (&here == at) rank.compute(name, start, end, static_cast<int>(random() % 2));
      if (&here == at + 1) rank.gather(name, ready, start, end);
      if (&here == at + 2) rank.receive(name, ready, start, end);
      here = end;
    }
    return rank;
  };
  for (int round = 0; round < 100; ++round) expect_exact(sim::difference(step().recorded(), step().recorded()));
}

std::string refusal(const trace::Recorded& measured, std::optional<int> rank = {}) {
  try {
    sim::difference(predicted().recorded(), measured, rank);
  } catch (const base::InputError& error) {
    return error.what();
  }
  return "held against it";
}

TEST(StepDifference, RefusesWhatIsNoRecordOfTheStep) {
  EXPECT_EQ(refusal(RankTrace().recorded()),
            "error: trace: holds no operator\n  mend: record a step with forerun measure JOB --trace FILE");
  EXPECT_EQ(refusal(predicted().recorded(), 3), "error: --rank: rank 3 is not in the trace\n  mend: choose of 0");
  EXPECT_EQ(
      refusal(predicted().at_rank(9, 2).recorded()),
      "error: trace: is of pipeline stage 2, which the job does not have\n  mend: name the job that was measured");
  EXPECT_EQ(
      refusal(RankTrace().compute("convolution", 0, 1).recorded()),
      "error: trace: has no operator in common with the prediction, such as 'gather'\n  mend: name the job that was "
      "measured");
}

}  // namespace
