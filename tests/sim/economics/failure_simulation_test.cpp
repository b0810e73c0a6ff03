// SPDX-License-Identifier: Apache-2.0
#include "sim/economics/failure_simulation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "sim/economics/completion.h"

namespace {

using base::Hertz;
using base::s;
using sim::Random;
using sim::RunModel;
using sim::RunOutcome;

RunModel usual() {
  RunModel m;
  m.failures = Hertz(1e-4);
  m.interval = s(1000);
  m.write = s(20);
  m.restart = s(300);
  return m;
}

/// The same run, slowly: every second is part of a segment's work, its standstill or the wait for the checkpoint
/// before. No spares are missing, nobody is slow.
double plain_run(const RunModel& m, double work, Random& random) {
  double now = 0, saved = 0, begun = 0, pending = 0;
  double failure = random.exponential(1 / m.failures.si());
  while (true) {
    const double segment = std::min(m.interval.si(), work - begun);
    const double copied = std::max(segment + m.write.si(), pending);  // from now
    if (pending > 0 && pending <= failure) saved = begun;
    if (failure < copied) {
      now += failure + m.restart.si();
      if (m.hardware > 0) random.uniform();
      begun = saved;
      pending = 0;
      failure = random.exponential(1 / m.failures.si());
      continue;
    }
    now += copied;
    failure -= copied;
    begun += segment;
    if (work - begun < 1e-6) return now + m.written_beside.si();
    pending = m.written_beside.si();
    if (pending <= 0) saved = begun;
  }
}

TEST(FailureSimulation, WithoutFailuresItIsWorkAndCheckpoints) {
  RunModel m = usual();
  m.failures = Hertz(0);
  Random random(1, 0);
  const RunOutcome run = sim::simulate_run(m, s(10'500), random);  // ten segments and a half, each with 20 s
  EXPECT_NEAR(run.time.si(), 10'500 + 11 * 20, 1e-6);
  EXPECT_NEAR(run.checkpoints.si(), 220, 1e-6);
  EXPECT_EQ(run.failures, 0);
}

TEST(FailureSimulation, IsTheSlowPlainOne) {
  Random dice(7, 0);
  for (std::uint64_t i = 0; i < 300; ++i) {
    RunModel m = usual();
    m.interval = s(200 + 2000 * dice.uniform());
    m.write = s(100 * dice.uniform());
    m.written_beside = s(i % 2 == 0 ? 0 : 1.5 * m.interval.si() * dice.uniform());  // sometimes longer than a segment
    const double work = 5e4 * dice.uniform();
    Random here(3, i), there(3, i);
    const RunOutcome run = sim::simulate_run(m, s(work), here);
    EXPECT_NEAR(run.time.si(), plain_run(m, work, there), 1e-3) << "case " << i;
  }
}

TEST(FailureSimulation, ItsMeanIsTheClosedFormWithinItsStandardError) {
  Random dice(11, 0);
  int beyond_two = 0;
  constexpr int cases = 40, runs = 400;
  for (int i = 0; i < cases; ++i) {
    RunModel m = usual();
    m.interval = s(300 + 3000 * dice.uniform());
    m.write = s(10 + 200 * dice.uniform());
    m.restart = s(1000 * dice.uniform());
    if (i % 2 == 0) {  // no spares: every other failure is waited for
      m.hardware = 0.5;
      m.repair = s(5000 * dice.uniform());
    }
    double sum = 0, squares = 0;
    for (int r = 0; r < runs; ++r) {
      Random random(100 + i, r);
      const double time = sim::simulate_run(m, s(1e5), random).time.si();
      sum += time;
      squares += time * time;
    }
    const double mean = sum / runs, error = std::sqrt((squares / runs - mean * mean) / (runs - 1));
    const double expected = sim::expected_run(*sim::closed_form(m), s(1e5)).si();
    EXPECT_NEAR(mean, expected, 4 * error) << "case " << i;
    beyond_two += std::abs(mean - expected) > 2 * error ? 1 : 0;
  }
  EXPECT_LE(beyond_two, 6);  // of 40, 4.6 % are: 1.8, and 6 or fewer in 99.7 % of such tests
}

TEST(FailureSimulation, AccountsForEverySecond) {
  for (std::uint64_t i = 0; i < 50; ++i) {
    RunModel m = usual();
    m.written_beside = s(i % 2 == 0 ? 0 : 1500);
    m.stragglers = spec::Stragglers{s(4000), s(1000), 1.5};
    Random random(5, i);
    const RunOutcome run = sim::simulate_run(m, s(1e5), random);
    const base::Seconds accounted = s(1e5) + run.lost + run.down + run.checkpoints + run.slow + m.written_beside;
    EXPECT_NEAR(run.time.si(), accounted.si(), 1e-3) << i;
    EXPECT_EQ(run.down, s(300) * static_cast<double>(run.failures));
  }
}

TEST(FailureSimulation, SlowSpellsStretchWorkByTheirShare) {
  // Spells of 1,000 s begin 4,000 s after the last one's end, on average; in them a step takes twice as long. In 5,000
  // s of the clock 4,500 s of work are done: 4.5e6 s of work take 5e6 s. 1,000 spells: the mean is good to about 1 %.
  RunModel m = usual();
  m.failures = Hertz(0);
  m.write = s(0);
  m.stragglers = spec::Stragglers{s(4000), s(1000), 2};
  Random random(9, 0);
  const RunOutcome run = sim::simulate_run(m, s(4.5e6), random);
  EXPECT_NEAR(run.time.si(), 5e6, 5e4);
  EXPECT_NEAR(run.time.si(), 4.5e6 + run.slow.si(), 1);
}

TEST(FailureSimulation, WithoutSparesEveryBrokenNodeIsWaitedFor) {
  RunModel m = usual();
  m.hardware = 1;
  m.repair = s(5000);
  Random random(2, 0);
  const RunOutcome none = sim::simulate_run(m, s(1e6), random);
  EXPECT_GT(none.failures, 50);
  EXPECT_NEAR(none.down.si(), 5300.0 * static_cast<double>(none.failures), 1e-3);
  m.spares = 1000;
  Random again(2, 0);
  const RunOutcome many = sim::simulate_run(m, s(1e6), again);
  EXPECT_NEAR(many.down.si(), 300.0 * static_cast<double>(many.failures), 1e-3);
}

TEST(FailureSimulation, AnotherSpareIsNeverALoss) {
  for (std::uint64_t i = 0; i < 20; ++i) {
    RunModel m = usual();
    m.hardware = 0.7;
    m.repair = s(30'000);
    double before = 1e300;
    for (m.spares = 0; m.spares < 8; ++m.spares) {
      Random random(4, i);
      const double time = sim::simulate_run(m, s(3e5), random).time.si();
      EXPECT_LE(time, before) << i << ' ' << m.spares;
      before = time;
    }
  }
}

TEST(FailureSimulation, TheFormulasBestIntervalIsTheSimulationsToo) {
  RunModel m = usual();
  const auto mean = [&](double factor) {
    m.interval = sim::best_interval(m.write, m.failures) * factor;  // 619 s
    base::Seconds sum;
    for (std::uint64_t i = 0; i < 400; ++i) {
      Random random(1, i);
      sum += sim::simulate_run(m, s(1e5), random).time;
    }
    return sum.si() / 400;
  };
  EXPECT_LT(mean(1), mean(0.4));
  EXPECT_LT(mean(1), mean(2.5));
}

TEST(FailureSimulation, TheSameSeedIsTheSameRun) {
  Random a(42, 3), b(42, 3), c(42, 4);
  const double time = sim::simulate_run(usual(), s(1e6), a).time.si();
  EXPECT_EQ(sim::simulate_run(usual(), s(1e6), b).time.si(), time);
  EXPECT_NE(sim::simulate_run(usual(), s(1e6), c).time.si(), time);
}

TEST(Completion, OneRunInTenLiesBeyondEitherEnd) {
  // Failures of no account: the end is the step's, 10 s of 8 to 15. Work of 1e6 s is then 0.8e6 to 1.5e6 s.
  RunModel m = usual();
  m.failures = Hertz(1e-12);
  m.write = s(0);
  result::Prediction step;
  step.step_time_s = 10;
  step.step_time_low_s = 8;
  step.step_time_high_s = 15;
  result::Goodput goodput;
  const sim::Completion done = sim::completion(m, s(1e6), step, {4000, 1, 1}, goodput);
  EXPECT_NEAR(done.mean.si(), 1e6, 1);
  EXPECT_NEAR(done.low.si(), 0.8e6, 0.01e6);
  EXPECT_NEAR(done.high.si(), 1.5e6, 0.03e6);
  EXPECT_NEAR(done.chance_by(s(1e6)), 0.5, 0.03);
  EXPECT_NEAR(done.chance_by(s(1.5e6)), 0.9, 0.02);
  EXPECT_NEAR(goodput.goodput, 1, 1e-6);
}

TEST(Completion, SparesAreTakenAsLongAsTheyPay) {
  // 10 nodes, half of the failures (one in 10,000 s) take one out for 20,000 s. Without a spare a failure costs 300 s
  // and 10,000 s more on average: the run takes twice as long. One spare costs a tenth, and saves most of that.
  RunModel m = usual();
  m.hardware = 0.5;
  m.repair = s(20'000);
  const sim::Runs runs{100, 1, 1};
  const int spares = sim::best_spares(m, 10, s(3e5), runs);
  EXPECT_GE(spares, 1);
  const auto cost = [&](int count) {
    RunModel with = m;
    with.spares = count;
    return sim::mean_time(with, s(3e5), runs).si() * (10 + count);
  };
  for (int other = 0; other < 6; ++other) EXPECT_LE(cost(spares), cost(other)) << other;
  m.repair = s(0);
  EXPECT_EQ(sim::best_spares(m, 10, s(3e5), runs), 0);
}

}  // namespace
