// tests/sim/engine/recurrence_test.cpp -- what repeats is copied, and nobody can tell it from what was run.
// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/recurrence.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <string>

#include "core/plan/build.h"
#include "sim/engine/chains.h"
#include "sim/pricing/flatten.h"
#include "sim/pricing/prices.h"
#include "tests/sim/engine/oracle.h"
#include "tests/sim/engine/rig.h"
#include "tests/sim/random_jobs.h"

namespace {

using plan::Stream;
using rig::holding;
using rig::on_channel;
using rig::op;
using rig::Programs;
using rig::synchronizing;
using rig::with_host;
using sim::EngineOutput;
using sim::Repeats;
using sim::Step;
using trace::Ticks;

constexpr plan::EventId kCompute = plan::event_of(Stream::compute), kTp = plan::event_of(Stream::tp);

std::vector<plan::Call> calls_of(const std::vector<int>& segments) {
  std::vector<plan::Call> out;
  for (const int segment : segments) out.push_back({segment, static_cast<std::int32_t>(out.size()), 0});
  return out;
}

void expect_equal(const EngineOutput& a, const EngineOutput& b, const std::string& which) {
  ASSERT_EQ(a.deadlocked, b.deadlocked) << which;
  ASSERT_EQ(a.end, b.end) << which;
  ASSERT_EQ(a.completed, b.completed) << which;
  ASSERT_EQ(a.spans.size(), b.spans.size());
  ASSERT_EQ(a.reach.size(), b.reach.size()) << which;
  for (std::size_t i = 0; i < a.reach.size(); ++i) {
    ASSERT_EQ(a.reach[i].begin, b.reach[i].begin) << which << " instance " << i;
    ASSERT_EQ(a.reach[i].end, b.reach[i].end) << which << " instance " << i;
  }
  for (std::size_t track = 0; track < a.spans.size(); ++track) {
    ASSERT_EQ(a.spans[track].size(), b.spans[track].size()) << which << " track " << track;
    for (std::size_t k = 0; k < a.spans[track].size(); ++k) {
      const trace::Span &x = a.spans[track][k], &y = b.spans[track][k];
      ASSERT_TRUE(x.ready == y.ready && x.start == y.start && x.end == y.end && x.work == y.work &&
                  x.microbatch == y.microbatch && x.waited_for == y.waited_for)
          << which << " track " << track << " span " << k;
    }
  }
}

/// Runs both ways; the operators that were copied.
std::int64_t copied_of(const sim::EngineInput& in, const std::string& which) {
  const EngineOutput fast = sim::run(in), slow = sim::run(in, sim::kLargestIsland, Repeats::run);
  EXPECT_EQ(slow.copied, 0) << which;
  expect_equal(fast, slow, which);
  for (const int island : {1, 2})
    expect_equal(sim::run(in, island), slow, which + ", islands of " + std::to_string(island));
  return fast.copied;
}

TEST(Recurrence, CallsOfOneSegmentAreCopied) {
  // Kernel k runs from 10 k to 10 k + 10, and the host, that waits for each, launches the next as it ends.
  Programs p({});
  const int segment = p.add_segment({synchronizing(op(Stream::compute, 10))});
  p.add_instance(calls_of(std::vector<int>(100, segment)));
  const EngineOutput out = sim::run(p.in);
  EXPECT_EQ(out.end, 1000);
  EXPECT_EQ(out.completed, 100);
  EXPECT_GT(out.copied, 80);
  const std::vector<trace::Span>& kernels = rig::spans(out, 0, Stream::compute);
  ASSERT_EQ(kernels.size(), 100u);
  for (int k = 0; k < 100; ++k) {
    EXPECT_EQ(kernels[k].start, 10 * k);
    EXPECT_EQ(kernels[k].end, 10 * k + 10);
    EXPECT_EQ(kernels[k].microbatch, k);
  }
}

TEST(Recurrence, AnotherCallIsRunByItself) {
  // 50 calls of 10, one of 7, 50 of 10 again: the end is at 1,007, and no kernel is out of its place.
  Programs p({});
  const int usual = p.add_segment({synchronizing(op(Stream::compute, 10))});
  const int other = p.add_segment({synchronizing(op(Stream::compute, 7))});
  std::vector<int> program(101, usual);
  program[50] = other;
  p.add_instance(calls_of(program));
  EXPECT_GT(copied_of(p.in, "50, 1, 50"), 60);
  const EngineOutput out = sim::run(p.in);
  EXPECT_EQ(out.end, 1007);
  EXPECT_EQ(rig::spans(out, 0, Stream::compute)[51].start, 507);
}

TEST(Recurrence, ARankThatGoesAnotherWayHoldsTheOthersBack) {
  // Both meet in every call; from call 60 on rank 1 comes 30 later, so rank 0 waits though its own calls repeat.
  Programs p({}, 1);
  const auto exchange = [&](Ticks kernel) {
    return p.add_segment({op(Stream::compute, kernel), on_channel(op(Stream::tp, 5, {kCompute}), 0),
                          synchronizing(op(Stream::compute, 1, {kTp}))});
  };
  const int usual = exchange(10), late = exchange(40);
  std::vector<int> program(120, usual);
  p.add_instance(calls_of(program));
  std::fill(program.begin() + 60, program.end(), late);
  p.add_instance(calls_of(program));
  p.meet(0, {0, 1});
  EXPECT_GT(copied_of(p.in, "held back"), 500);
  EXPECT_EQ(sim::run(p.in).end, 60 * (10 + 5 + 1) + 60 * (40 + 5 + 1));
}

TEST(Recurrence, AnIslandCopiesWhatItDoesWhileItMeetsNobodyElse) {
  // Two replicas of two ranks, each of which meets every 10 + 5 + 1 in 100 calls, the second 20 + 5 + 1; then all four.
  // The first replica runs ahead of the second, each in its own rhythm, and waits at the end.
  Programs p({}, 2);
  for (const Ticks kernel : {10, 20}) {
    const int usual = p.add_segment({op(Stream::compute, kernel), on_channel(op(Stream::tp, 5, {kCompute}), 0),
                                     synchronizing(op(Stream::compute, 1, {kTp}))});
    const int last = p.add_segment({on_channel(op(Stream::dp, 7, {kCompute}), 1)});
    std::vector<int> program(100, usual);
    program.push_back(last);
    for (int rank = 0; rank < 2; ++rank) p.add_instance(calls_of(program));
  }
  p.meet(0, {0, 1});
  p.meet(0, {2, 3});
  p.meet(1, {0, 1, 2, 3});
  const EngineOutput apart = sim::run(p.in, 2), slow = sim::run(p.in, sim::kLargestIsland, Repeats::run);
  expect_equal(apart, slow, "islands of two");
  EXPECT_EQ(apart.end, 100 * (20 + 5 + 1) + 7);
  EXPECT_GT(apart.copied, 4 * 3 * 80);
}

TEST(Recurrence, ACollectiveOfAllIslandsInEachCallEndsTheirRhythm) {
  // As before, but all four meet in every call: nothing is copied where they run apart.
  Programs p({}, 2);
  for (const Ticks kernel : {10, 20}) {
    const int usual = p.add_segment({op(Stream::compute, kernel), on_channel(op(Stream::tp, 5, {kCompute}), 0),
                                     on_channel(op(Stream::dp, 7, {kTp}), 1),
                                     synchronizing(op(Stream::compute, 1, {plan::event_of(Stream::dp)}))});
    for (int rank = 0; rank < 2; ++rank) p.add_instance(calls_of(std::vector<int>(100, usual)));
  }
  p.meet(0, {0, 1});
  p.meet(0, {2, 3});
  p.meet(1, {0, 1, 2, 3});
  const EngineOutput apart = sim::run(p.in, 2), slow = sim::run(p.in, sim::kLargestIsland, Repeats::run);
  expect_equal(apart, slow, "all meet");
  EXPECT_EQ(apart.copied, 0);
  EXPECT_EQ(apart.end, 100 * (20 + 5 + 7 + 1));
}

TEST(Recurrence, NothingRepeatsWhereTimesAreDrawn) {
  Programs p({});
  const int segment = p.add_segment({synchronizing(holding(op(Stream::compute, 1000), sim::resource::kCompute))});
  p.add_instance(calls_of(std::vector<int>(100, segment)));
  p.in.sampled_jitter = 0.1;
  EXPECT_EQ(sim::run(p.in).copied, 0);
}

// ---- random programs whose calls repeat ----

/// Blocks of one global order for all instances, as in a pipeline; a pattern of calls of them that is gone through many
/// times, with something else in front of it, behind it and once in its midst.
void fill(Programs& p, std::mt19937& random, bool shares) {
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const int instances = 1 + pick(4), blocks = 4;
  std::vector<std::vector<int>> segments(blocks);
  for (std::vector<int>& block : segments) {
    std::vector<std::vector<Step>> steps(instances);
    for (int k = 0; k < 12; ++k) {
      const bool meets = pick(3) == 0;
      for (int i = 0; i < instances; ++i) {
        if (!meets && pick(2) == 0) continue;
        Step step = op(meets          ? Stream::tp
                       : pick(2) == 0 ? Stream::compute
                                      : static_cast<Stream>(pick(plan::kStreams)),
                       pick(100));
        if (meets) step.channel = 0;
        step.host = pick(3) == 0 ? pick(20) : 0;
        for (plan::EventId& wait : step.waits) wait = static_cast<plan::EventId>(pick(4) == 0 ? pick(20) : -1);
        if (pick(5) == 0) step.records = static_cast<plan::EventId>(plan::kStreams + pick(4));
        step.synchronizes = pick(8) == 0;
        if (shares) step.resources = static_cast<std::uint8_t>(pick(1 << sim::resource::kCount));
        steps[i].push_back(step);
      }
    }
    for (const std::vector<Step>& own : steps) block.push_back(p.add_segment(own));
  }
  std::vector<int> pattern(1 + pick(3)), program(pick(6), 3);
  for (int& block : pattern) block = pick(3);
  for (int n = 0; n < 40; ++n) {
    if (n == 20) program.push_back(3);
    program.insert(program.end(), pattern.begin(), pattern.end());
  }
  program.insert(program.end(), pick(4), pick(blocks));
  for (int i = 0; i < instances; ++i) {
    std::vector<int> own;
    for (const int block : program) own.push_back(segments[block][i]);
    p.add_instance(calls_of(own));
  }
  std::vector<int> all(instances);
  std::iota(all.begin(), all.end(), 0);
  p.meet(0, all);
  p.in.host_start = pick(50);
  p.in.compute_slowdown = 1.17;
  p.in.communication_slowdown = 1.31;
}

TEST(Recurrence, RandomProgramsThatShareAreTheSameRun) {
  std::mt19937 random(71);
  std::int64_t copied = 0, all = 0;
  for (int n = 0; n < 300; ++n) {
    Programs p({}, 1);
    fill(p, random, true);
    if (n % 3 == 0) p.in.instances[0].compute_factor = 1.5;
    copied += copied_of(p.in, "program " + std::to_string(n));
    all += sim::run(p.in).completed;
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(copied, all / 10);  // there was something to tell apart
}

TEST(Recurrence, RandomProgramsEndAsTheOracleSays) {
  std::mt19937 random(72);
  for (int n = 0; n < 30; ++n) {
    Programs p({}, 1);
    fill(p, random, false);
    const oracle::Solution truth = oracle::solve(p.in);
    const EngineOutput out = sim::run(p.in);
    ASSERT_TRUE(truth.settled) << n;
    for (std::size_t i = 0; i < truth.programs.size(); ++i) {
      std::array<std::size_t, plan::kStreams> next{};
      for (const oracle::Timed& timed : truth.programs[i]) {
        const trace::Span& span = out.spans[i * plan::kStreams + timed.stream].at(next[timed.stream]++);
        ASSERT_EQ(span.ready, timed.ready) << n;
        ASSERT_EQ(span.end, timed.end) << n;
      }
    }
  }
}

// ---- random jobs with many microbatches ----

TEST(Recurrence, APipelineIsTheSameRun) {
  random_jobs::Source source(73);
  std::int64_t copied = 0, all = 0;
  for (int n = 0; n < 60; ++n) {
    spec::Job job = source.job();
    const int times = 2 + source.below(7);
    job.training.global_batch *= times;
    job.simulation.unfold = source.below(4) == 0;
    if (source.below(4) == 0) job.simulation.slow_ranks = {{0, 1.5}};
    const plan::Plan plan = plan::build(job);
    sim::EngineInput in = sim::flatten(plan, sim::prices_of(plan, job.cluster), job);
    if (source.coin()) sim::chain(in);
    copied += copied_of(in, random_jobs::text(job));
    all += sim::run(in).completed;
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(copied, all / 10);
}

}  // namespace
