// tests/sim/engine/jitter_test.cpp -- samples against the moments of a normal distribution, expected maxima against
// published order statistics, and folded runs against the mean of unfolded ones. SPDX-License-Identifier: Apache-2.0
#include "core/base/normal.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/plan/build.h"
#include "sim/engine/engine.h"
#include "sim/engine/lateness.h"
#include "sim/pricing/flatten.h"
#include "sim/pricing/prices.h"
#include "tests/sim/engine/rig.h"
#include "tests/support/toy.h"

namespace {

using plan::Stream;
using trace::Ticks;

TEST(Jitter, SamplesHaveTheMomentsOfANormalNumber) {
  // 200,000 samples: the mean's standard error is 0.0022, the variance's 0.0032, the fourth moment's (3) 0.022.
  double sum = 0, square = 0, fourth = 0;
  constexpr int count = 200'000;
  for (int k = 0; k < count; ++k) {
    const double x = base::normal_sample(7, static_cast<std::uint64_t>(k % 10), static_cast<std::uint64_t>(k / 10));
    sum += x;
    square += x * x;
    fourth += x * x * x * x;
  }
  EXPECT_NEAR(sum / count, 0, 0.01);
  EXPECT_NEAR(square / count, 1, 0.015);
  EXPECT_NEAR(fourth / count, 3, 0.1);
}

TEST(Jitter, ASampleDependsOnEachOfItsArguments) {
  const double x = base::normal_sample(1, 2, 3);
  EXPECT_EQ(base::normal_sample(1, 2, 3), x);
  EXPECT_NE(base::normal_sample(2, 2, 3), x);
  EXPECT_NE(base::normal_sample(1, 3, 3), x);
  EXPECT_NE(base::normal_sample(1, 2, 4), x);
}

TEST(Jitter, ExpectedMaximaAreThoseOfTheTables) {
  // n = 2 and 3 in closed form: 1 / sqrt(pi), 3 / (2 sqrt(pi)). The others: expected values of the largest normal order
  // statistic, Harter, Biometrika 48, 1961, table 1 (n = 1000: Royston, Applied Statistics 31, 1982).
  EXPECT_EQ(base::expected_maximum(1), 0);
  EXPECT_NEAR(base::expected_maximum(2), 0.56418958, 1e-6);
  EXPECT_NEAR(base::expected_maximum(3), 0.84628438, 1e-6);
  EXPECT_NEAR(base::expected_maximum(4), 1.02937537, 1e-6);
  EXPECT_NEAR(base::expected_maximum(8), 1.42360031, 1e-6);
  EXPECT_NEAR(base::expected_maximum(16), 1.76599139, 1e-6);
  EXPECT_NEAR(base::expected_maximum(100), 2.50759364, 1e-6);
  EXPECT_NEAR(base::expected_maximum(1000), 3.24143577, 1e-5);
}

/// `ranks` ranks that run `kernels` kernels of 1000 between collectives of 10, `rounds` times.
sim::EngineOutput lockstep(int ranks, bool folded, double jitter, std::uint64_t seed, int rounds = 20,
                           int kernels = 9) {
  std::vector<sim::Step> steps;
  for (int r = 0; r < rounds; ++r) {
    for (int k = 0; k < kernels; ++k) {
      steps.push_back(
          rig::holding(rig::op(Stream::compute, 1'000'000, {plan::event_of(Stream::tp)}), sim::resource::kCompute));
    }
    sim::Step collective = rig::on_channel(rig::op(Stream::tp, 10'000, {plan::event_of(Stream::compute)}), 0);
    collective.members = ranks;
    steps.push_back(collective);
  }
  rig::Programs p(std::vector<std::vector<sim::Step>>(folded ? 1 : ranks, steps), 1);
  if (!folded) {
    std::vector<int> all(ranks);
    for (int i = 0; i < ranks; ++i) all[i] = i;
    p.meet(0, all);
  }
  (folded ? p.in.kernel_jitter : p.in.sampled_jitter) = jitter;
  p.in.seed = seed;
  sim::wait_for_the_latest(p.in);
  return sim::run(p.in);
}

TEST(Jitter, ASeedRepeatsItsRunAndAnotherOneDoesNot) {
  const Ticks once = lockstep(4, false, 0.05, 3).end;
  EXPECT_EQ(lockstep(4, false, 0.05, 3).end, once);
  EXPECT_NE(lockstep(4, false, 0.05, 4).end, once);
}

TEST(Jitter, AFoldedGroupTakesTheExpectedMaximumOfItsMembers) {
  // A round: 9 kernels of 1,000,000 and the largest of 4 sums of 9 deviations of 50,000: 50,000 x 3 x 1.02938 =
  // 154,406, then 10,000 for the collective. 20 rounds.
  EXPECT_NEAR(static_cast<double>(lockstep(4, true, 0.05, 1).end), 20 * (9'000'000 + 154'406.3 + 10'000), 20);
}

TEST(Jitter, TheFoldedRunIsTheMeanOfUnfoldedOnes) {
  for (const int ranks : {2, 8, 32}) {
    double mean = 0;
    constexpr int seeds = 50;
    for (int seed = 1; seed <= seeds; ++seed)
      mean += static_cast<double>(lockstep(ranks, false, 0.05, seed).end) / seeds;
    const auto folded = static_cast<double>(lockstep(ranks, true, 0.05, 1).end);
    // 50 x 20 maxima with a standard deviation of at most 0.83 x 150,000 each leave 0.05 % of the whole.
    EXPECT_NEAR(folded / mean, 1, 0.001) << ranks;
    EXPECT_GT(folded, static_cast<double>(lockstep(ranks, true, 0, 1).end) * 1.005) << ranks;  // and no small change
  }
}

Ticks step_of(spec::Job job, bool unfold, std::uint64_t seed) {
  job.simulation.unfold = unfold;
  job.simulation.seed = seed;
  const plan::Plan plan = plan::build(job);
  return sim::run(sim::flatten(plan, sim::prices_of(plan, job.cluster), job)).end;
}

TEST(Jitter, FoldedJobsStayNearTheMeanOfUnfoldedOnes) {
  // Tensor groups inside data-parallel groups: the maxima nest, the folded run treats them one by one.
  const spec::Job job =
      toy::job({.tp = 4, .dp = 4, .microbatches = 4}, [](spec::Job& j) { j.simulation.jitter = 0.1; });
  double mean = 0;
  constexpr int seeds = 20;
  for (int seed = 1; seed <= seeds; ++seed) mean += static_cast<double>(step_of(job, true, seed)) / seeds;
  EXPECT_NEAR(static_cast<double>(step_of(job, false, 1)) / mean, 1, 0.02);
}

}  // namespace
