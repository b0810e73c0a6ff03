// tests/sim/analysis/account_test.cpp -- the answer put together from a trace and footprints made by hand.
// SPDX-License-Identifier: Apache-2.0
#include "sim/analysis/account.h"

#include <gtest/gtest.h>

#include <random>

#include "core/plan/build.h"
#include "sim/pricing/flatten.h"
#include "sim/pricing/prices.h"
#include "tests/support/toy.h"

namespace {

using trace::Ticks;

struct Case {
  spec::Job job;
  plan::Plan plan;
  sim::EngineInput input;
  trace::Trace trace;
  std::vector<sim::Footprint> footprints;

  explicit Case(const toy::Cut& cut) : job(toy::job(cut)), plan(plan::build(job)) {
    input = sim::flatten(plan, sim::prices_of(plan, job.cluster), job);
    trace = sim::to_trace(plan, input, sim::run(input));
    footprints = sim::footprints(plan, job);
  }
  result::Prediction answer() const { return sim::account(job, input, trace, footprints); }
};

TEST(Account, SharesInSecondsAddUpToTheLastBit) {
  // Spans and gaps of every size: the double that the shares add up to, in their order, is the step's own.
  Case c({});
  std::mt19937_64 random(9);
  for (int n = 0; n < 20'000; ++n) {
    trace::Trace& t = c.trace;
    for (trace::Track& track : t.tracks) track.spans.clear();
    Ticks at = 0;
    for (int k = 0; k < 6; ++k) {
      trace::Span span;
      const Ticks scale = Ticks{1} << random() % 44;
      span.ready = at + static_cast<Ticks>(random() % static_cast<std::uint64_t>(scale));
      span.start = span.ready + static_cast<Ticks>(random() % static_cast<std::uint64_t>(scale));
      at = span.end = span.start + static_cast<Ticks>(random() % static_cast<std::uint64_t>(scale));
      span.waited_for = -2;
      span.work = 0;
      span.phase = k % 2 == 0 ? 0 : 3;
      t.tracks[0].spans.push_back(span);
    }
    t.length = at + 1;
    // Memory is not the matter here: no peak operator to look up.
    for (sim::Footprint& f : c.footprints) f.peak.call = -1;
    const result::Prediction p = c.answer();
    double sum = 0;
    for (const auto& [name, seconds] : p.breakdown_s) sum += seconds;
    ASSERT_EQ(sum, p.step_time_s) << n;
  }
}

TEST(Account, TheStageThatWaitsLeastIsShown) {
  // An output head as dear as many layers: the last of four stages has no time to wait.
  Case c({.pp = 4, .microbatches = 8});
  c.job.model.vocab = 2'000'000;
  c.plan = plan::build(c.job);
  const sim::EngineInput input = sim::flatten(c.plan, sim::prices_of(c.plan, c.job.cluster), c.job);
  c.trace = sim::to_trace(c.plan, input, sim::run(input));
  c.footprints = sim::footprints(c.plan, c.job);
  EXPECT_EQ(c.answer().breakdown_stage, 3);
}

TEST(Account, CommunicationIsCountedByAxisAsNcclTestsDo) {
  const Case c({.tp = 2, .pp = 2, .dp = 2, .microbatches = 4});
  const result::Prediction p = c.answer();
  ASSERT_FALSE(p.communication.empty());
  for (const result::Communication& axis : p.communication) {
    if (axis.axis == "tp") {
      // An all-reduce of 2 ranks on ideal links of 100 GB/s has exactly that bus bandwidth.
      EXPECT_NEAR(axis.bus_bandwidth, 100e9, 1e6);
    } else if (axis.axis == "pp") {
      EXPECT_EQ(axis.calls, 8);                  // 4 microbatches, one way forward and one back
      EXPECT_EQ(axis.bytes, 8 * 128 * 256 * 2);  // tokens x hidden x bf16
    }
  }
}

TEST(Account, TheFullestStageDecidesWhetherTheJobFits) {
  Case c({.pp = 2, .microbatches = 4});
  const std::int64_t fullest = std::max(c.footprints[0].total(), c.footprints[1].total());
  c.job.cluster.node.gpu.memory = base::Bytes(static_cast<double>(fullest));
  EXPECT_TRUE(c.answer().fits);
  EXPECT_EQ(c.answer().peak_bytes, fullest);
  c.job.cluster.node.gpu.memory = base::Bytes(static_cast<double>(fullest - 1));
  EXPECT_FALSE(c.answer().fits);
}

TEST(Account, CategoriesOfAStageAddUpToItsPeak) {
  const Case c({.tp = 2, .pp = 2, .microbatches = 4});
  for (const result::StageMemory& stage : c.answer().stages) {
    std::int64_t sum = 0;
    for (const auto& [name, bytes] : stage.categories) sum += bytes;
    EXPECT_EQ(sum, stage.peak_bytes);
    EXPECT_FALSE(stage.peak_operator.empty());
    EXPECT_GT(stage.peak_time_s, 0);
    EXPECT_LT(stage.peak_time_s, c.answer().step_time_s);
  }
}

}  // namespace
