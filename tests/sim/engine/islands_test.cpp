// tests/sim/engine/islands_test.cpp -- which instances run together, and that the run is the same whichever do.
// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/islands.h"

#include <gtest/gtest.h>

#include "core/plan/build.h"
#include "sim/pricing/flatten.h"
#include "sim/pricing/prices.h"
#include "tests/sim/engine/rig.h"
#include "tests/sim/random_jobs.h"

namespace {

using plan::Stream;
using rig::on_channel;
using rig::op;
using rig::Programs;
using sim::EngineOutput;
using sim::Step;

constexpr plan::EventId kCompute = plan::event_of(Stream::compute), kTp = plan::event_of(Stream::tp);

/// Ranks 0 and 1 meet three times, 2 and 3 likewise, and all four once at the end.
std::vector<std::vector<Step>> four_ranks() {
  std::vector<Step> program;
  for (int n = 0; n < 3; ++n) program.push_back(on_channel(op(Stream::tp, 5), 0));
  program.push_back(on_channel(op(Stream::dp, 7, {kTp}), 1));
  return {4, program};
}

TEST(Islands, ThoseThatMeetMostOftenAreTogether) {
  Programs p(four_ranks(), 2);
  p.meet(0, {0, 2});
  p.meet(0, {1, 3});
  p.meet(1, {0, 1, 2, 3});
  const sim::Islands islands = sim::islands_of(p.in, 2);
  EXPECT_EQ(islands.of, (std::vector<std::int32_t>{0, 1, 0, 1}));
  EXPECT_EQ(islands.order, (std::vector<std::int32_t>{0, 2, 1, 3}));
  EXPECT_EQ(islands.begin, (std::vector<std::int32_t>{0, 2, 4}));
  EXPECT_EQ(sim::islands_of(p.in, 3).count(), 2u);
  EXPECT_EQ(sim::islands_of(p.in, 4).count(), 1u);
  EXPECT_EQ(sim::islands_of(p.in, 1).count(), 4u);
}

TEST(Islands, OneThatRanAheadIsWaitedForAtItsOwnTime) {
  // Each alone: rank 0 computes to 100 before rank 1, visited later, comes to 10. They meet from 100 to 105, and rank
  // 0's kernel issued behind the exchange runs beside it, from 100 to 103.
  Programs p({{op(Stream::compute, 100), on_channel(op(Stream::dp, 5, {kCompute}), 0), op(Stream::compute, 3)},
              {op(Stream::compute, 10), on_channel(op(Stream::dp, 5, {kCompute}), 0)}},
             1);
  p.meet(0, {0, 1});
  const EngineOutput out = sim::run(p.in, 1);
  const auto dp = static_cast<int>(Stream::dp);
  for (int rank = 0; rank < 2; ++rank) {
    const trace::Span& span = out.spans[rank * plan::kStreams + dp].at(0);
    EXPECT_EQ(span.ready, rank == 0 ? 100 : 10);
    EXPECT_EQ(span.start, 100);
    EXPECT_EQ(span.end, 105);
  }
  EXPECT_EQ(out.spans[0].at(1).end, 103);
  EXPECT_EQ(out.end, 105);
}

void expect_equal(const EngineOutput& a, const EngineOutput& b, const spec::Job& job) {
  ASSERT_FALSE(a.deadlocked);
  ASSERT_FALSE(b.deadlocked);
  ASSERT_EQ(a.end, b.end) << random_jobs::text(job);
  ASSERT_EQ(a.completed, b.completed);
  for (std::size_t track = 0; track < a.spans.size(); ++track) {
    ASSERT_EQ(a.spans[track].size(), b.spans[track].size());
    for (std::size_t k = 0; k < a.spans[track].size(); ++k) {
      const trace::Span &x = a.spans[track][k], &y = b.spans[track][k];
      ASSERT_EQ(x.ready, y.ready) << random_jobs::text(job);
      ASSERT_EQ(x.start, y.start) << random_jobs::text(job);
      ASSERT_EQ(x.end, y.end) << random_jobs::text(job);
    }
  }
}

TEST(Islands, ARunIsTheSameWhoeverRunsTogether) {
  random_jobs::Source source(41);
  for (int n = 0; n < 150; ++n) {
    spec::Job job = source.job();
    job.simulation.unfold = true;
    if (source.below(2) == 0) job.simulation.slow_ranks = {{source.below(job.cluster.gpus()), 1.5}};
    if (source.below(3) == 0) job.simulation.jitter = 0.05;
    const plan::Plan plan = plan::build(job);
    sim::EngineInput in = sim::flatten(plan, sim::prices_of(plan, job.cluster), job);
    for (sim::Instance& instance : in.instances) instance.recorded = true;
    const EngineOutput together = sim::run(in, 1 << 20);
    for (const int island : {1, 2, 3, 8}) expect_equal(sim::run(in, island), together, job);
  }
}

}  // namespace
