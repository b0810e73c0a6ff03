// tests/sim/analysis/host_replay_test.cpp -- the replay agrees with the engine's own host.
// SPDX-License-Identifier: Apache-2.0
#include "sim/analysis/host_replay.h"

#include <gtest/gtest.h>

#include "tests/sim/analysis/rig_trace.h"

namespace {

using plan::Stream;
using rig::op;
using rig::synchronizing;
using rig::with_host;

TEST(HostReplay, AddsUpIssueTimes) {
  rig::Programs p({{with_host(op(Stream::compute, 1), 4), with_host(op(Stream::tp, 1), 5)}});
  p.in.host_start = 100;
  const auto issues = sim::replay_host(rig::trace_of(p.in), p.in, 0);
  EXPECT_EQ(issues[static_cast<int>(Stream::compute)][0].at, 104);
  EXPECT_EQ(issues[static_cast<int>(Stream::tp)][0].at, 109);
  EXPECT_EQ(issues[static_cast<int>(Stream::tp)][0].index, -1);  // nothing ever held the host up
}

TEST(HostReplay, KnowsWhoHeldTheHostUp) {
  // Runs 2..12, the host goes on at 12.
  const rig::Programs p({{synchronizing(with_host(op(Stream::tp, 10), 2)), with_host(op(Stream::compute, 3), 4)}});
  const sim::Issue issue = sim::replay_host(rig::trace_of(p.in), p.in, 0)[0][0];
  EXPECT_EQ(issue.at, 16);
  EXPECT_EQ(issue.stream, static_cast<int>(Stream::tp));
  EXPECT_EQ(issue.index, 0);
}

TEST(HostReplay, StandsStillWhileTheLaunchQueueIsFull) {
  // Kernels of 10 that take 1 to issue: the host runs ahead until the queue is full, then it follows the device. What
  // it issues to idle streams starts as soon as it is issued, so these spans tell the engine's own issue times.
  std::vector<sim::Step> steps;
  for (int i = 0; i < 3000; ++i)
    steps.push_back(with_host(op(i % 7 == 3 ? Stream::tp : Stream::compute, i % 7 == 3 ? 0 : 10), 1));
  const rig::Programs p({steps});
  const trace::Trace trace = rig::trace_of(p.in);
  const auto issues = sim::replay_host(trace, p.in, 0);
  const auto& spans = trace.tracks[static_cast<int>(Stream::tp)].spans;
  int held_up = 0;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const sim::Issue& issue = issues[static_cast<int>(Stream::tp)][i];
    EXPECT_EQ(spans[i].ready, issue.at) << i;
    if (issue.index >= 0) ++held_up;
  }
  EXPECT_GT(held_up, 200);
}

}  // namespace
