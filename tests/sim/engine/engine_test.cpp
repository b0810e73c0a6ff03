// tests/sim/engine/engine_test.cpp -- programs of a few operators whose times can be worked out on paper, then random
// ones against an oracle that has no clock. SPDX-License-Identifier: Apache-2.0
#include "sim/engine/engine.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/sim/engine/oracle.h"
#include "tests/sim/engine/rig.h"

namespace {

using plan::event_of;
using plan::Stream;
using rig::holding;
using rig::on_channel;
using rig::op;
using rig::Programs;
using rig::recording;
using rig::spans;
using rig::synchronizing;
using rig::with_host;
using sim::EngineOutput;
using sim::Step;
using trace::Ticks;

constexpr plan::EventId kCompute = event_of(Stream::compute), kTp = event_of(Stream::tp);

TEST(Engine, AStreamRunsItsOperatorsOneBehindTheOther) {
  const Programs p(
      {{op(Stream::compute, 10), op(Stream::compute, 20), op(Stream::compute, 0), op(Stream::compute, 5)}});
  const EngineOutput out = sim::run(p.in);
  const auto& compute = spans(out, 0, Stream::compute);
  ASSERT_EQ(compute.size(), 4u);
  EXPECT_EQ(compute[1].start, 10);
  EXPECT_EQ(compute[3].start, 30);
  EXPECT_EQ(out.end, 35);
  EXPECT_EQ(out.completed, 4);
  EXPECT_FALSE(out.deadlocked);
}

TEST(Engine, StreamsWithoutWaitsRunBesideOneAnother) {
  const Programs p({{op(Stream::compute, 10), op(Stream::tp, 7), op(Stream::dp, 12)}});
  EXPECT_EQ(sim::run(p.in).end, 12);
}

TEST(Engine, AWaitTakesTheLatestRecordIssuedBeforeIt) {
  // Compute waits for the tp stream as it stood at the wait: the operator of 10. The one of 100 was issued behind the
  // wait.
  const Programs p({{op(Stream::tp, 10), op(Stream::compute, 5, {kTp}), op(Stream::tp, 100)}});
  const EngineOutput out = sim::run(p.in);
  EXPECT_EQ(spans(out, 0, Stream::compute)[0].start, 10);
  EXPECT_EQ(spans(out, 0, Stream::compute)[0].waited_for, static_cast<int>(Stream::tp));
}

TEST(Engine, RecordingAgainReplacesAnEvent) {
  // Both records of event 20 were issued before the wait; the second one, at 10 + 30, counts.
  const Programs p({{recording(op(Stream::tp, 10), 20), recording(op(Stream::tp, 30), 20), op(Stream::tp, 50),
                     op(Stream::compute, 5, {20})}});
  EXPECT_EQ(spans(sim::run(p.in), 0, Stream::compute)[0].start, 40);
}

TEST(Engine, AWaitForAnEventThatWasNeverRecordedIsVoid) {
  const Programs p({{op(Stream::compute, 5, {25, kTp}), op(Stream::tp, 10)}});
  EXPECT_EQ(spans(sim::run(p.in), 0, Stream::compute)[0].start, 0);
}

TEST(Engine, AnOperatorWaitsForAllItsEvents) {
  const Programs p({{op(Stream::tp, 10), op(Stream::dp, 30), op(Stream::cp, 20),
                     op(Stream::compute, 5, {kTp, event_of(Stream::dp), event_of(Stream::cp)})}});
  EXPECT_EQ(spans(sim::run(p.in), 0, Stream::compute)[0].start, 30);
}

TEST(Engine, ACollectiveStartsWithItsLastMemberAndEndsWithItsSlowest) {
  // Members arrive at 10, 40 and 0 and need 5, 6 and 8: all run from 40 to 48.
  const auto program = [](Ticks before, Ticks inside) {
    return std::vector<Step>{op(Stream::compute, before), on_channel(op(Stream::tp, inside, {kCompute}), 0),
                             op(Stream::compute, 1, {kTp})};
  };
  Programs p({program(10, 5), program(40, 6), program(0, 8)}, 1);
  p.meet(0, {0, 1, 2});
  const EngineOutput out = sim::run(p.in);
  const Ticks arrived[] = {10, 40, 0};
  for (int i = 0; i < 3; ++i) {
    const trace::Span& span = spans(out, i, Stream::tp)[0];
    EXPECT_EQ(span.ready, arrived[i]);
    EXPECT_EQ(span.start, 40);
    EXPECT_EQ(span.end, 48);
    EXPECT_EQ(spans(out, i, Stream::compute)[1].start, 48);
  }
}

TEST(Engine, TheNthCallOfAMemberMeetsTheNthOfTheOthers) {
  // The second member is late to every call: the first collective runs 20..21, the second 41..42.
  Programs p({{on_channel(op(Stream::tp, 1), 0), on_channel(op(Stream::tp, 1), 0)},
              {op(Stream::compute, 20), on_channel(op(Stream::tp, 1, {kCompute}), 0), op(Stream::compute, 21),
               on_channel(op(Stream::tp, 1, {kCompute}), 0)}},
             1);
  p.meet(0, {0, 1});
  const EngineOutput out = sim::run(p.in);
  EXPECT_EQ(spans(out, 0, Stream::tp)[0].start, 20);
  EXPECT_EQ(spans(out, 0, Stream::tp)[1].start, 41);
  EXPECT_EQ(out.end, 42);
}

TEST(Engine, ChannelsInAnotherOrderDeadlockAndAreTold) {
  Programs p({{on_channel(op(Stream::tp, 1), 0), on_channel(op(Stream::tp, 1), 1)},
              {on_channel(op(Stream::tp, 1), 1), on_channel(op(Stream::tp, 1), 0)}},
             2);
  p.meet(0, {0, 1});
  p.meet(1, {0, 1});
  EXPECT_TRUE(sim::run(p.in).deadlocked);
}

TEST(Engine, AProgramOfShortKernelsTakesAsLongAsTheirLaunches) {
  // 100 kernels of 2 launched every 5: the last is issued at 500 and runs until 502.
  const Programs p({std::vector<Step>(100, with_host(op(Stream::compute, 2), 5))});
  const EngineOutput out = sim::run(p.in);
  EXPECT_EQ(out.end, 502);
  EXPECT_EQ(spans(out, 0, Stream::compute)[50].waited_for, -2);  // the host
}

TEST(Engine, AProgramOfLongKernelsHidesTheirLaunches) {
  // The first is issued at 5; 100 of 8 follow one another.
  const Programs p({std::vector<Step>(100, with_host(op(Stream::compute, 8), 5))});
  EXPECT_EQ(sim::run(p.in).end, 805);
}

TEST(Engine, TheHostBeginsWithItsOwnWork) {
  Programs p({{with_host(op(Stream::compute, 8), 5)}});
  p.in.host_start = 1000;
  EXPECT_EQ(sim::run(p.in).end, 1013);
}

TEST(Engine, ASynchronizationStallsTheHost) {
  // Issued at 1, ends at 101; only then the host goes on, so the next kernel is issued at 102 though its stream was
  // free.
  const Programs p({{with_host(synchronizing(op(Stream::compute, 100)), 1), with_host(op(Stream::tp, 10), 1)}});
  EXPECT_EQ(spans(sim::run(p.in), 0, Stream::tp)[0].start, 102);
}

TEST(Engine, ASynchronizationLetsTheHostGoOnWhateverElseIsQueued) {
  // 700 slow operators are under way when the host comes back at 1: it issues at once.
  std::vector<Step> steps(700, op(Stream::dp, 1000));
  steps.push_back(synchronizing(op(Stream::compute, 1)));
  steps.push_back(op(Stream::tp, 1));
  const Programs p({steps});
  EXPECT_EQ(spans(sim::run(p.in), 0, Stream::tp)[0].start, 1);
}

/// `ahead` operators of 1,000,000 on the compute stream, then one on another stream; the host needs 1 for each.
Ticks start_behind(int ahead) {
  std::vector<Step> steps(ahead, with_host(op(Stream::compute, 1'000'000), 1));
  steps.push_back(with_host(op(Stream::tp, 1), 1));
  const Programs p({steps});
  return spans(sim::run(p.in), 0, Stream::tp)[0].start;
}

TEST(Engine, TheHostRunsNoFurtherAheadThanItsQueue) {
  EXPECT_EQ(start_behind(1023), 1024);       // there is room for 1,024 operators
  EXPECT_EQ(start_behind(1024), 1'000'002);  // the next waits until the first has run (from 1 on), then is issued
  EXPECT_EQ(start_behind(1025), 2'000'002);  // and the one behind until the second has
}

/// A kernel of `kernel` and a transfer of `transfer` that begin together.
Programs pair(Ticks kernel, Ticks transfer) {
  using namespace sim::resource;
  return Programs({{holding(op(Stream::compute, kernel), sim::resource::kCompute),
                    holding(op(Stream::tp, transfer), kCommunication | kNvlinkOut)}});
}

TEST(Engine, AKernelIsStretchedWhileCommunicationRuns) {
  // The transfer of 60 takes twice as long: until 120. By then the kernel has done 120 / 1.5 = 80 of its 100; 20 are
  // left.
  Programs p = pair(100, 60);
  p.in.compute_slowdown = 1.5;
  p.in.communication_slowdown = 2;
  const EngineOutput out = sim::run(p.in);
  EXPECT_EQ(spans(out, 0, Stream::tp)[0].end, 120);
  EXPECT_EQ(spans(out, 0, Stream::compute)[0].end, 140);
}

TEST(Engine, CommunicationIsStretchedWhileAKernelRuns) {
  // The kernel of 100 takes 150; the transfer has done 75 of its 200 by then, 125 are left.
  Programs p = pair(100, 200);
  p.in.compute_slowdown = 1.5;
  p.in.communication_slowdown = 2;
  const EngineOutput out = sim::run(p.in);
  EXPECT_EQ(spans(out, 0, Stream::compute)[0].end, 150);
  EXPECT_EQ(spans(out, 0, Stream::tp)[0].end, 275);
}

TEST(Engine, OperatorsOnOneLinkShareIt) {
  using namespace sim::resource;
  // Two transfers of 100 and 30: at half the rate until the short one ends at 60; 70 are left of the long one.
  const Programs same({{holding(op(Stream::tp, 100), kCommunication | kNicOut),
                        holding(op(Stream::dp, 30), kCommunication | kNicOut)}});
  const EngineOutput shared = sim::run(same.in);
  EXPECT_EQ(spans(shared, 0, Stream::dp)[0].end, 60);
  EXPECT_EQ(spans(shared, 0, Stream::tp)[0].end, 130);
  // Other directions and other links do not.
  const Programs other(
      {{holding(op(Stream::tp, 100), kCommunication | kNicOut), holding(op(Stream::dp, 30), kCommunication | kNicIn),
        holding(op(Stream::cp, 70), kCommunication | kNvlinkOut)}});
  const EngineOutput apart = sim::run(other.in);
  EXPECT_EQ(spans(apart, 0, Stream::dp)[0].end, 30);
  EXPECT_EQ(spans(apart, 0, Stream::cp)[0].end, 70);
  EXPECT_EQ(apart.end, 100);
}

TEST(Engine, ThreeOnALinkGetAThirdEach) {
  using namespace sim::resource;
  // 30 each: all end at 90. With 10, 20, 30: 10 at 30 (a third), then half: 10 more at 50, then 10 alone at 60.
  std::vector<Step> equal, unequal;
  const Stream streams[] = {Stream::tp, Stream::cp, Stream::dp};
  for (int k = 0; k < 3; ++k) {
    equal.push_back(holding(op(streams[k], 30), kNvlinkIn));
    unequal.push_back(holding(op(streams[k], 10 * (k + 1)), kNvlinkIn));
  }
  const Programs a({equal}), b({unequal});
  EXPECT_EQ(sim::run(a.in).end, 90);
  const EngineOutput out = sim::run(b.in);
  EXPECT_EQ(spans(out, 0, Stream::tp)[0].end, 30);
  EXPECT_EQ(spans(out, 0, Stream::cp)[0].end, 50);
  EXPECT_EQ(spans(out, 0, Stream::dp)[0].end, 60);
}

TEST(Engine, WhatComesAndGoesAtOneInstantLeavesNoTrace) {
  using namespace sim::resource;
  // One transfer gives the link to the next without a gap, whatever their streams: the kernel runs beside a transfer
  // all the time, and no rounding depends on who was noted first. 1001 x 1.1 = 1101.1.
  for (const bool forth : {true, false}) {
    const Stream first = forth ? Stream::tp : Stream::dp, second = forth ? Stream::dp : Stream::tp;
    std::vector<Step> steps{holding(op(Stream::compute, 1001), sim::resource::kCompute)};
    for (int k = 0; k < 100; ++k) {
      const Stream now = k % 2 == 0 ? first : second, before = k % 2 == 0 ? second : first;
      steps.push_back(holding(op(now, 13, {event_of(before)}), kCommunication));
    }
    Programs p({steps});
    p.in.compute_slowdown = 1.1;
    EXPECT_EQ(spans(sim::run(p.in), 0, Stream::compute)[0].end, 1101);
  }
}

TEST(Engine, ASlowRankStretchesItsKernelsAlone) {
  using namespace sim::resource;
  Programs p({{holding(op(Stream::compute, 100), sim::resource::kCompute),
               holding(op(Stream::dp, 50), kNicIn | kNicOut), holding(op(Stream::tp, 40), kNvlinkIn)}});
  p.in.instances[0].compute_factor = 1.25;
  const EngineOutput out = sim::run(p.in);
  EXPECT_EQ(spans(out, 0, Stream::compute)[0].end, 125);
  EXPECT_EQ(spans(out, 0, Stream::dp)[0].end, 50);
  EXPECT_EQ(spans(out, 0, Stream::tp)[0].end, 40);
}

TEST(Engine, SpansOfInstancesThatAreNotRecordedAreNotKept) {
  Programs p({{op(Stream::compute, 10)}, {op(Stream::compute, 20)}});
  p.in.instances[0].recorded = false;
  const EngineOutput out = sim::run(p.in);
  EXPECT_TRUE(spans(out, 0, Stream::compute).empty());
  EXPECT_EQ(spans(out, 1, Stream::compute).size(), 1u);
  EXPECT_EQ(out.completed, 2);
}

// ---- random programs against the oracle ----

struct Shape {
  int instances, channels, blocks, calls, length;  // length: global operators in a block
  double host, sync, meeting;                      // shares of operators that cost host time, synchronize, meet
  double compute = 0.1;                            // share that goes to the compute stream, at least
};

/// Blocks of one global order, written down for every instance and called several times. The order makes them sound:
/// what comes first in it never waits for what comes later.
void fill(Programs& p, const Shape& shape, std::mt19937& random) {
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const auto chance = [&](double share) { return pick(1'000'000) < share * 1'000'000; };
  std::vector<std::vector<int>> members(shape.channels);
  std::vector<Stream> stream_of(shape.channels);
  for (int c = 0; c < shape.channels; ++c) {
    while (members[c].empty()) {
      for (int i = 0; i < shape.instances; ++i) {
        if (pick(2) == 0) members[c].push_back(i);
      }
    }
    stream_of[c] = static_cast<Stream>(1 + pick(plan::kStreams - 1));
  }
  std::vector<std::vector<plan::Call>> calls(shape.instances);
  std::vector<std::vector<int>> segments;  // of each block, by instance
  for (int b = 0; b < shape.blocks; ++b) {
    std::vector<std::vector<Step>> steps(shape.instances);
    for (int k = 0; k < shape.length; ++k) {
      const bool meets = shape.channels > 0 && chance(shape.meeting);
      const int channel = meets ? pick(shape.channels) : -1;
      const std::vector<int> who = meets ? members[channel] : std::vector<int>{pick(shape.instances)};
      for (const int i : who) {
        Step step = op(meets                   ? stream_of[channel]
                       : chance(shape.compute) ? Stream::compute
                                               : static_cast<Stream>(pick(plan::kStreams)),
                       chance(0.2) ? 0 : pick(100));
        step.channel = static_cast<std::int16_t>(channel);
        if (chance(shape.host)) step.host = pick(40);
        for (plan::EventId& wait : step.waits) wait = static_cast<plan::EventId>(chance(0.3) ? pick(14) : -1);
        if (chance(0.2)) step.records = static_cast<plan::EventId>(plan::kStreams + pick(5));
        step.synchronizes = chance(shape.sync);
        steps[i].push_back(step);
      }
    }
    segments.emplace_back();
    for (int i = 0; i < shape.instances; ++i) segments.back().push_back(p.add_segment(steps[i]));
  }
  for (int c = 0; c < shape.calls; ++c) {
    const int block = pick(shape.blocks);
    for (int i = 0; i < shape.instances; ++i) calls[i].push_back({segments[block][i], c, 0});
  }
  for (int i = 0; i < shape.instances; ++i) p.add_instance(calls[i]);
  for (int c = 0; c < shape.channels; ++c) p.meet(c, members[c]);
  p.in.host_start = pick(50);
}

void expect_equal(const sim::EngineInput& in, const std::string& which) {
  const oracle::Solution truth = oracle::solve(in);
  const EngineOutput out = sim::run(in);
  ASSERT_TRUE(truth.settled) << which;
  ASSERT_FALSE(out.deadlocked) << which;
  Ticks end = 0;
  for (std::size_t i = 0; i < truth.programs.size(); ++i) {
    std::array<std::size_t, plan::kStreams> next{};
    for (const oracle::Timed& op : truth.programs[i]) {
      const auto& track = out.spans[i * plan::kStreams + op.stream];
      ASSERT_LT(next[op.stream], track.size()) << which;
      const trace::Span& span = track[next[op.stream]++];
      ASSERT_EQ(span.ready, op.ready) << which << " instance " << i << " stream " << op.stream << " nr "
                                      << next[op.stream];
      ASSERT_EQ(span.start, op.start) << which;
      ASSERT_EQ(span.end, op.end) << which;
      end = std::max(end, op.end);
    }
  }
  EXPECT_EQ(out.end, end) << which;
}

TEST(EngineOracle, RandomProgramsEndAtTheSamePicosecond) {
  std::mt19937 random(20);
  for (int n = 0; n < 400; ++n) {
    const int instances = 1 + static_cast<int>(random() % 6);
    Programs p({}, 4);
    fill(p, {instances, 4, 3, 5, 40, n % 3 == 0 ? 0.0 : 0.8, n % 4 == 0 ? 0.03 : 0.0, 0.3}, random);
    expect_equal(p.in, "program " + std::to_string(n));
    if (HasFatalFailure()) return;
  }
}

TEST(EngineOracle, RandomProgramsBeyondTheQueueToo) {
  // Nearly all on one stream, so that the host runs into its window again and again.
  std::mt19937 random(21);
  for (int n = 0; n < 12; ++n) {
    Programs p({}, 2);
    fill(p, {2, 2, 4, 6, 1200, n % 2 == 0 ? 0.1 : 0.9, n % 3 == 0 ? 0.0003 : 0.0, 0.01, 0.97}, random);
    expect_equal(p.in, "long program " + std::to_string(n));
    if (HasFatalFailure()) return;
  }
}

}  // namespace
