// tests/sim/analysis/breakdown_test.cpp -- small traces whose causes are known, and the law that shares add up.
// SPDX-License-Identifier: Apache-2.0
#include "sim/analysis/breakdown.h"

#include <gtest/gtest.h>

#include <numeric>

#include "core/plan/axes.h"
#include "core/plan/plan.h"
#include "sim/predict.h"
#include "tests/sim/analysis/rig_trace.h"
#include "tests/sim/random_jobs.h"

namespace {

using plan::Stream;
using sim::Breakdown;
using sim::Share;
using trace::Ticks;

enum Channel { kNone = -1, kTp, kDp, kPp, kModel };

/// A trace of one rank beside an idle one of another stage, written span by span.
struct Sheet {
  trace::Trace trace;
  Sheet() {
    trace.channels = {"tp", "dp", "pp", "model"};
    trace.phases = {"forward", "recompute", "backward", "optimizer"};
    trace.streams = plan::kStreams;
    trace.tracks.resize(2 * plan::kStreams);
    for (int s = 0; s < plan::kStreams; ++s) trace.tracks[plan::kStreams + s].stage = 1;
  }
  Sheet& span(Stream stream, Ticks ready, Ticks start, Ticks end, int waited_for, int channel = kNone, int phase = 0) {
    trace::Span s;
    s.ready = ready;
    s.start = start;
    s.end = end;
    s.waited_for = static_cast<std::int8_t>(waited_for);
    s.channel = static_cast<std::int16_t>(channel);
    s.phase = static_cast<std::uint8_t>(phase);
    trace.tracks[static_cast<int>(stream)].spans.push_back(s);
    trace.length = std::max(trace.length, end);
    return *this;
  }
};

/// Shares named by the test; all others are expected to be zero.
void expect_shares(const trace::Trace& trace, std::initializer_list<std::pair<Share, Ticks>> expected) {
  Breakdown want{};
  for (const auto& [share, ticks] : expected) want[static_cast<int>(share)] = ticks;
  const Breakdown got = sim::breakdown(trace, 0);
  for (int k = 0; k < sim::kShares; ++k) EXPECT_EQ(got[k], want[k]) << sim::kShareNames[k];
}

constexpr int kOnTp = static_cast<int>(Stream::tp), kOnReceive = static_cast<int>(Stream::recv_prev), kOnHost = -2;

TEST(Breakdown, WhereThereIsOneStageTheReplicasAreWaitedForAndNoneIsABubble) {
  Sheet sheet;
  sheet.span(Stream::compute, 0, 0, 10, kOnHost);
  sheet.trace.length = 15;
  expect_shares(sheet.trace, {{Share::compute, 10}, {Share::bubble, 5}});
  sheet.trace.tracks.resize(plan::kStreams);
  expect_shares(sheet.trace, {{Share::compute, 10}, {Share::exposed_dp, 5}});
}

TEST(Breakdown, NoGroupOfAStagesRanksIsExposedAsTheExchangeBetweenStages) {
  for (const std::string_view axis : plan::kAxisNames)
    EXPECT_NE(sim::share_of_channel(axis), Share::exposed_pp) << axis;
  for (const char* states : {"shard", "replicate", "expert dp", "expert shard", "expert replicate"}) {
    EXPECT_EQ(sim::share_of_channel(states), Share::exposed_dp) << states;
  }
  for (const char* stages : {"pp", "embedding", "vocabulary"}) {
    EXPECT_EQ(sim::share_of_channel(stages), Share::exposed_pp) << stages;
  }
}

TEST(Breakdown, KernelsOfTheOptimizerPhaseAreCountedApart) {
  Sheet s;
  s.span(Stream::compute, 0, 0, 10, -1).span(Stream::compute, 10, 10, 14, -1, kNone, 3);
  expect_shares(s.trace, {{Share::compute, 10}, {Share::optimizer, 4}});
}

TEST(Breakdown, AKernelIssuedTooLateWaitedForTheHost) {
  Sheet s;
  s.span(Stream::compute, 3, 3, 10, kOnHost).span(Stream::compute, 12, 12, 20, kOnHost);
  expect_shares(s.trace, {{Share::host, 5}, {Share::compute, 15}});
}

TEST(Breakdown, CommunicationIsExposedWhileItIsWaitedFor) {
  Sheet s;
  s.span(Stream::compute, 0, 0, 10, -1).span(Stream::tp, 10, 10, 16, 0, kTp).span(Stream::compute, 16, 16, 20, kOnTp);
  expect_shares(s.trace, {{Share::compute, 14}, {Share::exposed_tp, 6}});
}

TEST(Breakdown, CommunicationBesideKernelsIsHidden) {
  // It runs 4..16, but the stream was busy until 10: only 6 are exposed.
  Sheet s;
  s.span(Stream::compute, 0, 0, 10, -1).span(Stream::dp, 4, 4, 16, -1, kDp);
  s.span(Stream::compute, 16, 16, 20, static_cast<int>(Stream::dp));
  expect_shares(s.trace, {{Share::compute, 14}, {Share::exposed_dp, 6}});
}

TEST(Breakdown, WaitingForAnotherStageIsBubble) {
  // Posted at 0, the sender arrives at 30, the transfer takes 5.
  Sheet s;
  s.span(Stream::compute, 0, 0, 10, -1)
      .span(Stream::recv_prev, 0, 30, 35, -1, kPp)
      .span(Stream::compute, 35, 35, 40, kOnReceive);
  expect_shares(s.trace, {{Share::compute, 15}, {Share::bubble, 20}, {Share::exposed_pp, 5}});
}

TEST(Breakdown, WaitingForARankOfTheOwnStageIsTheirGroups) {
  // Posted at 10, the last tensor-parallel rank arrives at 14, 3 are the collective's own. No pipeline waits.
  Sheet s;
  s.span(Stream::compute, 0, 0, 10, -1).span(Stream::tp, 10, 14, 17, 0, kTp).span(Stream::compute, 17, 17, 20, kOnTp);
  expect_shares(s.trace, {{Share::compute, 13}, {Share::exposed_tp, 7}});
}

TEST(Breakdown, TheRankThatOthersWaitForIsTheOneShown) {
  // Both ranks' shares are the same but for the wait: of 20 the second waits 4 for the first.
  Sheet s;
  s.span(Stream::compute, 0, 0, 14, -1).span(Stream::tp, 14, 14, 17, 0, kTp).span(Stream::compute, 17, 17, 20, kOnTp);
  EXPECT_EQ(sim::waits_and_shares(s.trace, 0).waits, 0);
  Sheet early;
  early.span(Stream::compute, 0, 0, 10, -1)
      .span(Stream::tp, 10, 14, 17, 0, kTp)
      .span(Stream::compute, 17, 17, 20, kOnTp);
  EXPECT_EQ(sim::waits_and_shares(early.trace, 0).waits, 4);
}

TEST(Breakdown, AChainOfCommunicationIsChargedLinkByLink) {
  // Received 12..15, then gathered 15..19 by the tensor ranks.
  Sheet s;
  s.span(Stream::compute, 0, 0, 10, -1).span(Stream::recv_prev, 0, 12, 15, -1, kPp);
  s.span(Stream::tp, 15, 15, 19, kOnReceive, kTp).span(Stream::compute, 19, 19, 25, kOnTp);
  expect_shares(s.trace, {{Share::compute, 16}, {Share::bubble, 2}, {Share::exposed_pp, 3}, {Share::exposed_tp, 4}});
}

TEST(Breakdown, QueuedCommunicationIsChargedToWhatRanBeforeItOnItsStream) {
  Sheet s;
  s.span(Stream::compute, 0, 0, 10, -1).span(Stream::tp, 10, 10, 13, 0, kTp).span(Stream::tp, 13, 13, 17, -1, kTp);
  s.span(Stream::compute, 17, 17, 18, kOnTp);
  expect_shares(s.trace, {{Share::compute, 11}, {Share::exposed_tp, 7}});
}

TEST(Breakdown, AfterTheLastKernelCommunicationAndThenTheOthersAreWaitedFor) {
  Sheet s;
  s.span(Stream::compute, 0, 0, 10, -1).span(Stream::dp, 10, 11, 15, 0, kDp);
  s.trace.length = 18;  // another rank ends later
  expect_shares(s.trace, {{Share::compute, 10}, {Share::exposed_dp, 1 + 4}, {Share::bubble, 3}});
}

TEST(Breakdown, TheGradientNormBelongsToTheOptimizer) {
  Sheet s;
  s.span(Stream::compute, 0, 0, 10, -1).span(Stream::dp, 10, 10, 12, 0, kModel);
  s.span(Stream::compute, 12, 12, 15, static_cast<int>(Stream::dp), kNone, 3);
  expect_shares(s.trace, {{Share::compute, 10}, {Share::optimizer, 2 + 3}});
}

TEST(Breakdown, OperatorsWithoutDurationEndTheirWaits) {
  // Two free receives and a free gather at 20, each behind the other; the first waited for its sender since 0.
  Sheet s;
  s.span(Stream::compute, 0, 0, 10, -1)
      .span(Stream::recv_prev, 0, 20, 20, -1, kPp)
      .span(Stream::recv_prev, 20, 20, 20, -1, kPp);
  s.span(Stream::tp, 20, 20, 20, kOnReceive, kTp)
      .span(Stream::tp, 20, 20, 20, -1, kTp)
      .span(Stream::compute, 20, 20, 25, kOnTp);
  expect_shares(s.trace, {{Share::compute, 15}, {Share::bubble, 10}});
}

TEST(Breakdown, AFullLaunchQueueIsWhatFillsIt) {
  // 1,500 transfers of 10 one behind the other, each issued in 1, then a kernel. The first runs 1..11. The kernel is
  // issued when 1500 - 1024 + 1 = 477 have ended, at 1 + 4770, and begins 1 later. Then transfers go on to 15001.
  std::vector<sim::Step> steps(1500, rig::with_host(rig::op(Stream::tp, 10), 1));
  steps.push_back(rig::with_host(rig::op(Stream::compute, 5), 1));
  const rig::Programs p({steps});
  trace::Trace trace = rig::trace_of(p.in);
  trace.channels = {"tp"};
  for (trace::Span& span : trace.tracks[static_cast<int>(Stream::tp)].spans) span.channel = kTp;
  const auto of = [](const Breakdown& shares, Share share) { return shares[static_cast<int>(share)]; };
  const Breakdown plain = sim::breakdown(trace, 0), replayed = sim::waits_and_shares(trace, p.in, 0).shares;
  EXPECT_EQ(of(plain, Share::host), 4772);
  EXPECT_EQ(of(replayed, Share::host), 2);  // before the first transfer, too
  EXPECT_EQ(of(replayed, Share::exposed_tp), 4770 + (15001 - 4777));
  EXPECT_EQ(of(replayed, Share::compute), 5);
}

TEST(Breakdown, SharesOfEveryRankAddUpToTheStep) {
  random_jobs::Source source(11);
  for (int n = 0; n < 200; ++n) {
    spec::Job job = source.job();
    job.simulation.unfold = n % 4 == 0;
    const trace::Trace trace = sim::predict(job).trace;
    for (std::size_t first = 0; first < trace.tracks.size(); first += trace.streams) {
      const Breakdown shares = sim::breakdown(trace, first);
      ASSERT_EQ(std::accumulate(shares.begin(), shares.end(), Ticks{0}), trace.length) << random_jobs::text(job);
      for (const Ticks share : shares) ASSERT_GE(share, 0);
    }
  }
}

TEST(Breakdown, ComputeIsTheSumOfTheKernels) {
  random_jobs::Source source(12);
  for (int n = 0; n < 50; ++n) {
    const trace::Trace trace = sim::predict(source.job()).trace;
    const Breakdown shares = sim::breakdown(trace, 0);
    Ticks kernels = 0, optimizer = 0;
    for (const trace::Span& span : trace.tracks[0].spans)
      (span.phase == 3 ? optimizer : kernels) += span.end - span.start;
    EXPECT_EQ(shares[static_cast<int>(Share::compute)], kernels);
    EXPECT_GE(shares[static_cast<int>(Share::optimizer)], optimizer);  // and the gradient norm's reduction
  }
}

}  // namespace
