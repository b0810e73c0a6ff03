// tests/sim/memory/ledger_test.cpp -- the peak against a naive walk that adds up every change of every call, and the
// timeline against the spans it is hung on. SPDX-License-Identifier: Apache-2.0
#include "sim/memory/ledger.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "core/plan/build.h"
#include "core/plan/builder.h"
#include "sim/predict.h"
#include "sim/pricing/flatten.h"
#include "sim/pricing/prices.h"
#include "tests/support/toy.h"

namespace {

using plan::Category;

/// Segments of random changes that never fall below what is resident.
plan::Plan random_plan(std::mt19937& random) {
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  plan::Plan plan;
  plan::Pool pool(plan);
  const int segments = 1 + pick(4);
  for (int s = 0; s < segments; ++s) {
    plan::SegmentBuilder out(pool, "segment");
    const int operators = 1 + pick(12);
    for (int k = 0; k < operators; ++k) {
      for (int c = pick(3); c > 0; --c) {
        out.take(static_cast<Category>(pick(plan::kCategories)), pick(1000), pick(8) == 0);
      }
      out.compute(plan::MemoryBound{.read = pick(50)}, "kernel");
      for (int c = pick(3); c > 0; --c) out.give(static_cast<Category>(pick(plan::kCategories)), pick(1000));
    }
    plan.segments.push_back(out.finish());
  }
  plan::Role role;
  for (std::int64_t& bytes : role.resident) bytes = pick(100'000);
  for (int c = pick(20); c > 0; --c) role.calls.push_back({pick(segments), c, 0});
  plan.roles.push_back(role);
  return plan;
}

struct Naive {
  double most = 0;
  std::array<std::int64_t, plan::kCategories> bytes{};
  int call = -1, op = -1;
};

Naive naive_walk(const plan::Plan& plan, const plan::Role& role, const sim::ByteWeights& weights, bool resident_apart) {
  Naive out;
  auto levels = role.resident;
  const auto total = [&] { return std::inner_product(levels.begin(), levels.end(), weights.begin(), 0.0); };
  out.most = total();
  out.bytes = levels;
  for (std::size_t c = 0; c < role.calls.size(); ++c) {
    for (const plan::MemoryChange& change : plan.segments[role.calls[c].segment].memory) {
      if (change.apart && resident_apart) continue;
      levels[static_cast<int>(change.category)] += change.bytes;
      if (total() <= out.most) continue;
      out = {total(), levels, static_cast<int>(c), change.at};
    }
  }
  return out;
}

void expect_same(const sim::MemoryPeak& peak, const Naive& truth) {
  ASSERT_EQ(peak.bytes, truth.bytes);
  ASSERT_EQ(peak.call, truth.call);
  ASSERT_EQ(peak.op, truth.op);
}

constexpr sim::ByteWeights kAlike{1, 1, 1, 1, 1, 1, 1, 1};

void expect_naive(const plan::Plan& plan, const plan::Role& role) {
  const sim::MemoryPeak peak = sim::peak_of(plan, role);
  const Naive truth = naive_walk(plan, role, kAlike, false);
  ASSERT_EQ(static_cast<double>(peak.total()), truth.most);
  expect_same(peak, truth);
}

TEST(Ledger, ThePeakOfRandomPlansIsThatOfANaiveWalk) {
  std::mt19937 random(5);
  for (int n = 0; n < 500; ++n) {
    SCOPED_TRACE(n);
    const plan::Plan plan = random_plan(random);
    expect_naive(plan, plan.roles[0]);
    if (HasFatalFailure()) return;
  }
}

TEST(Ledger, TheHeaviestMomentOfRandomPlansIsThatOfANaiveWalk) {
  std::mt19937 random(6);
  for (int n = 0; n < 500; ++n) {
    SCOPED_TRACE(n);
    const plan::Plan plan = random_plan(random);
    sim::ByteWeights weights;
    for (double& weight : weights) weight = static_cast<double>(random() % 5) / 2;  // sums are exact
    const bool apart = n % 2 == 0;
    expect_same(sim::heaviest(plan, plan.roles[0], weights, apart), naive_walk(plan, plan.roles[0], weights, apart));
    if (HasFatalFailure()) return;
  }
}

TEST(Ledger, ThePeakOfBuiltPlansIsThatOfANaiveWalk) {
  for (const auto kind : {spec::Recompute::Kind::none, spec::Recompute::Kind::selective, spec::Recompute::Kind::full}) {
    const plan::Plan plan = plan::build(
        toy::job({.tp = 2, .pp = 2, .vpp = 2, .dp = 2, .zero = 1, .microbatches = 6, .recompute = {kind, 0}}));
    for (const plan::Role& role : plan.roles) expect_naive(plan, role);
  }
}

TEST(Ledger, AStepGivesBackAllThatItTakes) {
  for (const int pp : {1, 2, 4}) {
    const plan::Plan plan = plan::build(toy::job({.tp = 2, .sp = true, .pp = pp, .microbatches = 5}));
    for (const plan::Role& role : plan.roles) {
      std::array<std::int64_t, plan::kCategories> net{};
      for (const plan::Call& call : role.calls) {
        for (const plan::MemoryChange& change : plan.segments[call.segment].memory) {
          net[static_cast<int>(change.category)] += change.bytes;
        }
      }
      for (const std::int64_t bytes : net) EXPECT_EQ(bytes, 0) << "pp " << pp << " stage " << role.stage;
    }
  }
}

TEST(Ledger, WithoutChangesThePeakIsWhatIsResident) {
  plan::Plan plan;
  plan::Role role;
  role.resident[0] = 70;
  role.resident[2] = 5;
  const sim::MemoryPeak peak = sim::peak_of(plan, role);
  EXPECT_EQ(peak.total(), 75);
  EXPECT_EQ(peak.call, -1);
}

TEST(Ledger, TheTimelineReachesThePeakAtItsInstantAndEndsWhereItBegan) {
  const spec::Job job = toy::job({.tp = 2, .pp = 2, .microbatches = 4});
  const plan::Plan plan = plan::build(job);
  const sim::EngineInput input = sim::flatten(plan, sim::prices_of(plan, job.cluster), job);
  const trace::Trace trace = sim::to_trace(plan, input, sim::run(input));
  for (std::size_t r = 0; r < plan.roles.size(); ++r) {
    const std::size_t first = r * trace.streams;
    const trace::MemoryTrack track = sim::timeline(plan, plan.roles[r], trace, first);
    const sim::MemoryPeak peak = sim::peak_of(plan, plan.roles[r]);
    const auto highest = std::max_element(track.points.begin(), track.points.end(),
                                          [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
    EXPECT_EQ(highest->bytes, peak.total());
    EXPECT_EQ(highest->at, sim::instant_of(input, plan.roles[r], trace, first, peak.call, peak.op));
    EXPECT_EQ(track.points.front().bytes, track.points.back().bytes);
    EXPECT_TRUE(std::is_sorted(track.points.begin(), track.points.end(),
                               [](const auto& a, const auto& b) { return a.at < b.at; }));
    EXPECT_EQ(track.stage, static_cast<int>(r));
  }
}

TEST(Ledger, TheTimelineReachesThePeakUnderEveryStrategy) {
  // Under zero 2 and 3 with chunks the ranks take buffers ahead of streams that lag: many changes share an instant.
  for (const int zero : {0, 1, 2, 3}) {
    for (const auto& cut : {toy::Cut{.pp = 2, .vpp = 2, .dp = 4, .zero = zero, .microbatches = 4},
                            toy::Cut{.tp = 2, .dp = 4, .zero = zero, .microbatches = 2},
                            toy::Cut{.dp = 8, .zero = zero, .recompute = {spec::Recompute::Kind::full}}}) {
      const spec::Job job = toy::job(cut);
      const sim::Outcome outcome = sim::predict(job, sim::Detail::operators);
      const plan::Plan plan = plan::build(job);
      ASSERT_EQ(outcome.trace.memory.size(), plan.roles.size());
      for (std::size_t r = 0; r < plan.roles.size(); ++r) {
        std::int64_t highest = 0;
        for (const trace::MemoryPoint& point : outcome.trace.memory[r].points) highest = std::max(highest, point.bytes);
        EXPECT_EQ(highest, sim::peak_of(plan, plan.roles[r]).total()) << outcome.prediction.job << " role " << r;
      }
    }
  }
}

TEST(Ledger, TheInstantOfAnOperatorIsTheStartOfItsSpan) {
  const spec::Job job = toy::job({.microbatches = 3});
  const plan::Plan plan = plan::build(job);
  const sim::EngineInput input = sim::flatten(plan, sim::prices_of(plan, job.cluster), job);
  const trace::Trace trace = sim::to_trace(plan, input, sim::run(input));
  // Everything is on the compute stream, so the n-th operator is the n-th span.
  std::size_t n = 0;
  for (std::size_t c = 0; c < plan.roles[0].calls.size(); ++c) {
    const auto count = plan.segments[plan.roles[0].calls[c].segment].operators.size();
    for (std::size_t o = 0; o < count; ++o, ++n) {
      ASSERT_EQ(sim::instant_of(input, plan.roles[0], trace, 0, static_cast<int>(c), static_cast<int>(o)),
                trace.tracks[0].spans[n].start);
    }
  }
}

}  // namespace
