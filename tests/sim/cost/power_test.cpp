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
TEST(Power, OneClockHoldsForAllThatIsCalculated) {
  // At pace 0.8 a matmul that computes takes 1 / 0.8 of its time, and so does attention at a third of the peak: the
  // clock that the matmuls around it brought down is its own. Neither overheads nor memory are in the way: 8192^3 on
  // the toy.
  const plan::Matmul matmul{.m = 8192, .n = 8192, .k = 8192};
  const plan::Attention attention{
      .batch = 8, .q_len = 8192, .kv_len = 8192, .heads = 32, .kv_heads = 32, .head_dim = 128};
  sim::Device cool = powered(400), limited = powered(400);
  cool.calibration.power.sustained = 1;
  for (sim::Device* d : {&cool, &limited}) {
    for (spec::MatmulCurve& curve : d->calibration.matmul) curve.overhead = {};
    for (spec::AttentionCurve& curve : d->calibration.attention) curve.forward = 0.33, curve.overhead = {};
  }
  EXPECT_NEAR(sim::price(matmul, limited).time / sim::price(matmul, cool).time, 1 / 0.8, 0.01);
  EXPECT_NEAR(sim::price(attention, limited).time / sim::price(attention, cool).time, 1 / 0.8, 0.01);
}

TEST(Power, AttentionThatLeavesTheTensorCoresIdleIsNotHeldBack) {
  // As FlashAttention 2 on a B200: below a third of the pace of the best kernel. At a pace of 0.8 the others take
  // 1 / 0.8 of their time.
  const auto slower = [](double pace) {
    const plan::Attention attention{
        .batch = 8, .q_len = 8192, .kv_len = 8192, .heads = 32, .kv_heads = 32, .head_dim = 128};
    sim::Device cool = powered(400), limited = powered(400);
    cool.calibration.power.sustained = 1;
    for (sim::Device* d : {&cool, &limited}) {
      for (spec::AttentionCurve& curve : d->calibration.attention) curve.forward = 0.6, curve.overhead = {};
      d->calibration.attention[static_cast<int>(attention.kernel)].forward = pace;
    }
    return sim::price(attention, limited).time / sim::price(attention, cool).time;
  };
  EXPECT_NEAR(slower(0.19), 1, 1e-9);
  EXPECT_NEAR(slower(0.21), 1 / 0.8, 0.01);
  EXPECT_NEAR(slower(0.6), 1 / 0.8, 0.01);
}

TEST(Power, AStepWaitsForItsSlowestBoardWhateverTheKernel) {
  // The expected maximum of two standard normals is 1/sqrt(pi) = 0.5642: at a spread of 0.1, 1 + 0.05642. Of a hundred
  // thousand it would be 4.4, and no board beyond the whisker of 2.698 is waited for: 1.2698.
  spec::Node node;
  node.gpu = powered(400).gpu;
  node.calibration = powered(400).calibration;
  node.calibration.power.spread = 0.1;
  const sim::Device one = sim::slowest_of(node, 1), two = sim::slowest_of(node, 2),
                    many = sim::slowest_of(node, 100'000);
  const plan::Matmul matmul{.m = 8192, .n = 8192, .k = 8192};
  const plan::MemoryBound copy{.kind = plan::MemoryBound::Kind::copy, .read = 1000000, .written = 0};
  EXPECT_EQ(sim::price(matmul, one).time, sim::price(matmul, powered(400)).time);
  EXPECT_NEAR(sim::price(matmul, two).time / sim::price(matmul, one).time, 1.05642, 1e-5);
  EXPECT_NEAR(sim::price(copy, two).time / sim::price(copy, one).time, 1.05642, 1e-5);
  EXPECT_NEAR(sim::price(matmul, many).time / sim::price(matmul, one).time, 1.2698, 1e-4);
}

}  // namespace
