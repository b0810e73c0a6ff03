// SPDX-License-Identifier: Apache-2.0
#include "sim/economics/goodput.h"

#include <gtest/gtest.h>

#include <cmath>

namespace {

using base::Hertz;
using base::s;
using sim::Rhythm;

TEST(Goodput, ASegmentWithoutFailuresTakesItsLength) {
  EXPECT_EQ(sim::expected_segment({Hertz(0), s(90), s(10), s(50)}, s(90)), s(100));
}

TEST(Goodput, ASegmentWithFailuresTakesWhatTheFormulaSays) {
  // One failure in 1,000 s, 90 s of work, 10 s of writing, 50 s down: (e^0.1 - 1) (1000 + 50) = 0.1051709 x 1050.
  EXPECT_NEAR(sim::expected_segment({Hertz(1e-3), s(90), s(10), s(50)}, s(90)).si(), 110.42946, 1e-5);
}

TEST(Goodput, ARunIsItsSegmentsAndTheRest) {
  // 1,000 s of work in segments of 300 s, each with 10 s of writing: 3 x 310 + 110.
  EXPECT_EQ(sim::expected_run({Hertz(0), s(300), s(10), s(0)}, s(1000)), s(1040));
}

TEST(Goodput, TheBestIntervalOfTheTextbook) {
  // A checkpoint of 60 s, a failure a day. Young: sqrt(2 x 60 x 86400) = 3219.938 s. Daly: Young's times
  // 1 + sqrt(60 / 172800) / 3 + 60 / 172800 / 9 = 1.0062498, less 60: 3180.062 s. The exact root is 3180.063 s.
  const Hertz rate(1 / 86400.0);
  EXPECT_NEAR(sim::young_interval(s(60), rate).si(), 3219.938, 0.001);
  EXPECT_NEAR(sim::daly_interval(s(60), rate).si(), 3180.062, 0.001);
  EXPECT_NEAR(sim::best_interval(s(60), rate).si(), 3180.063, 0.001);
}

TEST(Goodput, NoOtherIntervalIsBetterWhateverARestartTakes) {
  for (const double write : {1.0, 60.0, 900.0, 20000.0}) {
    for (const double down : {0.0, 600.0, 86400.0}) {
      const Hertz rate(1 / 10000.0);
      const base::Seconds best = sim::best_interval(s(write), rate);
      const auto pace = [&](double factor) {
        const Rhythm r{rate, best * factor, s(write), s(down)};
        return sim::expected_segment(r, r.interval) / r.interval;
      };
      EXPECT_LT(pace(1), pace(0.98)) << write << ' ' << down;
      EXPECT_LT(pace(1), pace(1.02)) << write << ' ' << down;
    }
  }
}

TEST(Goodput, DalyIsNearerThanYoung) {
  const Hertz rate(1e-4);
  for (double write = 1; write < 5000; write *= 1.7) {
    const double best = sim::best_interval(s(write), rate).si();
    EXPECT_LT(std::abs(sim::daly_interval(s(write), rate).si() - best),
              std::abs(sim::young_interval(s(write), rate).si() - best));
  }
}

}  // namespace
