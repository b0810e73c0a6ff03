// tests/sim/cost/power_test.cpp -- the power law at points done in the head.
// SPDX-License-Identifier: Apache-2.0
#include "sim/cost/power.h"

#include <gtest/gtest.h>

#include "tests/sim/cost/toy_device.h"

namespace {

sim::Device powered(double limit) {
  sim::Device d = toy_device();
  d.gpu.power = base::Watts(limit);
  d.calibration.power = {.sustained = 0.8, .exponent = 0.5, .power = base::Watts(400), .source = ""};
  return d;
}

TEST(Power, AtTheCalibratedLimitThePaceIsTheMeasuredOne) { EXPECT_DOUBLE_EQ(sim::sustained_pace(powered(400)), 0.8); }
TEST(Power, AQuarterOfTheLimitHalvesThePaceAtExponentOneHalf) {
  EXPECT_DOUBLE_EQ(sim::sustained_pace(powered(100)), 0.4);
}
TEST(Power, MorePowerNeverExceedsTheShortRun) { EXPECT_DOUBLE_EQ(sim::sustained_pace(powered(4000)), 1.0); }
TEST(Power, AnUnknownLimitHasNoEffect) { EXPECT_DOUBLE_EQ(sim::sustained_pace(powered(0)), 0.8); }
TEST(Power, TheSameChipAtALowerLimitIsSlowerAtMathAndTheSameAtMemory) {
  const plan::Matmul w{.m = 8192, .n = 8192, .k = 8192};
  EXPECT_GT(sim::price(w, powered(300)).time, sim::price(w, powered(400)).time);
  const plan::MemoryBound copy{.kind = plan::MemoryBound::Kind::copy, .read = 1000000, .written = 0};
  EXPECT_EQ(sim::price(copy, powered(300)).time, sim::price(copy, powered(400)).time);
}
TEST(Power, AtPaceEightTenthsMathTakesAQuarterMore) {
  // 1e12 FLOP at 1 PFLOP/s: 1 ms; (1 / 0.8 - 1) = 0.25 of it.
  EXPECT_NEAR(sim::power_penalty(powered(400), base::Flops(1e12), base::TFLOPps(1000), 1).si(), 2.5e-4, 1e-12);
}

}  // namespace
