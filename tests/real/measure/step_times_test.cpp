// tests/real/measure/step_times_test.cpp -- tests real/measure/step_times.h. SPDX-License-Identifier: Apache-2.0
#include "real/measure/step_times.h"

#include <gtest/gtest.h>

namespace {

using base::s;
using real::StepTimes;

TEST(StepTimes, AStepIsAsLongAsItsSlowestRank) {
  EXPECT_EQ(real::slowest({{s(1), s(5)}, {s(2), s(4)}}), (StepTimes{s(2), s(5)}));
}

TEST(StepTimes, TheSpreadLeavesOutATenthAtEachEnd) {
  // Eleven steps of 0 to 10 s in any order: a tenth of the way from the first to the last is 1 s, nine tenths 9 s.
  const real::Spread spread = real::spread_of({s(10), s(0), s(5), s(3), s(7), s(1), s(9), s(2), s(8), s(4), s(6)});
  EXPECT_EQ(spread.median, s(5));
  EXPECT_DOUBLE_EQ(spread.low.si(), 1);
  EXPECT_DOUBLE_EQ(spread.high.si(), 9);
}

TEST(StepTimes, TheMedianOfTwoLiesBetweenThem) {
  EXPECT_EQ(real::spread_of({s(4), s(2)}).median, s(3));
  EXPECT_EQ(real::spread_of({s(4)}).high, s(4));
}

}  // namespace
