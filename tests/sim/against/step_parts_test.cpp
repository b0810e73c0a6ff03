// SPDX-License-Identifier: Apache-2.0
#include "sim/against/step_parts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "tests/sim/against/rank_trace.h"

namespace {

using sim::StepParts;
using testing_support::RankTrace;
using trace::Ticks;

StepParts parts(const RankTrace& rank) {
  const trace::Trace& trace = rank.recorded().trace;
  return sim::step_parts(trace, 0, 0, trace.length);
}

Ticks sum(const StepParts& parts) {
  Ticks out = std::accumulate(parts.idle.begin(), parts.idle.end(), Ticks{0});
  for (const auto& track : parts.charges) {
    for (const sim::Charge& charge : track) out += charge.all();
  }
  return out;
}

TEST(StepParts, WhatComputesHidesWhatRunsBeside) {
  // The gather (10..30) is hidden until 20, waited for from 20 to 30.
  const StepParts p = parts(RankTrace().compute("a", 0, 20).gather("g", 10, 10, 30).compute("b", 30, 40));
  EXPECT_EQ(p.charges[0][0].work, 20);
  EXPECT_EQ(p.charges[1][0].work, 10);
  EXPECT_EQ(p.charges[0][1].work, 10);
  EXPECT_EQ(sum(p), 40);
}

TEST(StepParts, WhatHasNotEndedWhenAGapEndsWasNotWaitedFor) {
  // The gather runs on to 50, so b, at 30, did not wait for it: the gap (20..30) is idle, and b's.
  const StepParts p = parts(RankTrace().compute("a", 0, 20).gather("g", 10, 10, 50).compute("b", 30, 60));
  EXPECT_EQ(p.charges[1][0].all(), 0);
  EXPECT_EQ(p.idle[1], 10);
  // Had it ended at 30, the whole gap would be its.
  EXPECT_EQ(parts(RankTrace().compute("a", 0, 20).gather("g", 10, 10, 30).compute("b", 30, 60)).idle[1], 0);
}

TEST(StepParts, OfSeveralThatEndInAGapTheLastOneIsWaitedFor) {
  // Gap 10..40: the gather ends at 25, the receive (20..35) at 35. 35..40 idle, 20..35 receive, 10..20 gather.
  const StepParts p =
      parts(RankTrace().compute("a", 0, 10).gather("g", 5, 5, 25).receive("r", 20, 20, 35).compute("b", 40, 50));
  EXPECT_EQ(p.idle[1], 5);
  EXPECT_EQ(p.charges[2][0].work, 15);
  EXPECT_EQ(p.charges[1][0].work, 10);
}

TEST(StepParts, WaitingForOthersIsToldApartFromWork) {
  // Posted at 0, something came at 12: 0..12 waits, 12..15 receives.
  const StepParts p = parts(RankTrace().receive("r", 0, 12, 15).compute("a", 15, 20));
  EXPECT_EQ(p.charges[2][0].waiting, 12);
  EXPECT_EQ(p.charges[2][0].work, 3);
}

TEST(StepParts, BehindTheLastOperatorTheRestOfTheStepIsTheEndsOwn) {
  // The step is another rank's until 30; here the gather ends at 25.
  RankTrace rank;
  rank.compute("a", 0, 10).gather("g", 8, 8, 25);
  const StepParts p = sim::step_parts(rank.recorded().trace, 0, 0, 30);
  EXPECT_EQ(p.charges[1][0].work, 15);
  EXPECT_EQ(p.idle.back(), 5);
}

TEST(StepParts, WithoutAComputeStreamTheBusiestIsIt) {
  RankTrace rank;
  rank.gather("g", 0, 0, 10).receive("r", 0, 0, 20);
  for (trace::Track& track : rank.recorded().trace.tracks) track.stream = "stream 7";
  EXPECT_EQ(sim::step_parts(rank.recorded().trace, 0, 0, 20).main, 2u);
}

/// Who the instant [at, at + 1) is charged to by the three rules, looked up span by span: track and number of the span;
/// track -1 and the number of the span behind the gap when it is idle.
std::pair<int, int> owner(const trace::Trace& trace, Ticks at) {
  const std::vector<trace::Span>& main = trace.tracks[0].spans;
  Ticks gap_end = trace.length;
  int behind = static_cast<int>(main.size());
  for (int i = static_cast<int>(main.size()) - 1; i >= 0; --i) {
    if (main[i].ready <= at && at < main[i].end) return {0, i};
    if (main[i].ready > at) gap_end = main[i].ready, behind = i;
  }
  std::pair<int, int> best{-1, behind};
  Ticks last = -1;
  for (int t = 1; t < static_cast<int>(trace.tracks.size()); ++t) {
    for (int i = 0; i < static_cast<int>(trace.tracks[t].spans.size()); ++i) {
      const trace::Span& span = trace.tracks[t].spans[i];
      if (span.ready > at || span.end <= at || span.end > gap_end || span.end <= last) continue;
      last = span.end;
      best = {t, i};
    }
  }
  return best;
}

TEST(StepParts, AgreesWithTheRulesInstantByInstantOnRandomSteps) {
  std::mt19937 random(7);
  const auto upto = [&](int most) { return static_cast<Ticks>(random() % (most + 1)); };
  for (int round = 0; round < 300; ++round) {
    RankTrace rank;
    for (int track = 0; track < 3; ++track) {
      Ticks at = upto(5);
      for (int i = 0; i < 5; ++i) {
        const Ticks ready = at + upto(4), start = ready + (track == 0 ? 0 : upto(3)), end = start + upto(6);
        if (track == 0) rank.compute("c", start, end);
        if (track == 1) rank.gather("g", ready, start, end);
        if (track == 2) rank.receive("r", ready, start, end);
        at = end;
      }
    }
    const trace::Trace& trace = rank.recorded().trace;
    const StepParts p = parts(rank);
    std::vector<std::vector<Ticks>> expected(3, std::vector<Ticks>(5));
    std::vector<Ticks> idle(6);
    for (Ticks at = 0; at < trace.length; ++at) {
      const auto charged = owner(trace, at);
      ++(charged.first < 0 ? idle[charged.second] : expected[charged.first][charged.second]);
    }
    EXPECT_EQ(p.idle, idle) << "round " << round;
    // Two of the other streams may end at one instant: which of them is charged is free, what they are charged is not.
    for (int i = 0; i < 5; ++i) EXPECT_EQ(p.charges[0][i].all(), expected[0][i]) << "round " << round;
    EXPECT_EQ(sum(p), trace.length) << "round " << round;
  }
}

}  // namespace
