// tests/sim/cost/convolution_test.cpp -- a device of 1 PFLOP/s and 1 TB/s, then laws.
// SPDX-License-Identifier: Apache-2.0
#include "sim/cost/convolution.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/sim/cost/toy_device.h"

namespace {

using Pass = plan::Convolution::Pass;

double us_of(const plan::Convolution& w, const sim::Device& d) { return sim::price(w, d).time.si() * 1e6; }
double corner(double a, double b) { return std::pow(std::pow(a, 4) + std::pow(b, 4), 0.25); }

TEST(Convolution, OfOneTapIsAMatmulOfPositionsAndChannels) {
  const plan::Convolution w{.batch = 4, .size = 50, .in = 256, .out = 512};
  const plan::Matmul same{.m = 4 * 50 * 50, .n = 512, .k = 256};
  EXPECT_DOUBLE_EQ(us_of(w, toy_device()), sim::price(same, toy_device()).time.si() * 1e6);
}

TEST(Convolution, ReadsItsInputOnceHoweverManyTaps) {
  // 100 -> 100 channels on 100 x 100, 3x3: 1.8e9 FLOP take 1.8 us; 1e6 + 1e6 + 9e4 numbers of 2 bytes take 4.18 us.
  const plan::Convolution w{.batch = 1, .size = 100, .in = 100, .out = 100, .kernel = 3, .padding = 1};
  EXPECT_NEAR(us_of(w, toy_device()), corner(1.8, 4.18), 1e-9);
}

TEST(Convolution, TheThreePassesHaveEqualFlops) {
  for (const int stride : {1, 2}) {
    plan::Convolution w{.batch = 8, .size = 56, .in = 64, .out = 128, .kernel = 3, .stride = stride, .padding = 1};
    const double forward = plan::hardware_flops(w);
    const double positions = stride == 1 ? 56 * 56 : 28 * 28;
    EXPECT_DOUBLE_EQ(forward, 2 * 8 * positions * 64 * 128 * 9);
    for (const Pass pass : {Pass::data_gradient, Pass::weight_gradient}) {
      w.pass = pass;
      EXPECT_DOUBLE_EQ(plan::hardware_flops(w), forward);
      // Nothing but math: equal FLOPs take equal time where the device has memory to spare (k is rounded up).
      sim::Device fast = toy_device();
      fast.gpu.hbm = base::GBps(1e9);
      EXPECT_NEAR(us_of(w, fast), forward / 1e9, 0.01 * forward / 1e9);
    }
  }
}

TEST(Convolution, ADepthwiseOneWaitsForMemory) {
  // 3x3 on 32 channels of 100 x 100: 320,000 + 320,000 + 288 numbers of 2 bytes at 1 TB/s.
  const plan::Convolution w{.batch = 1, .size = 100, .in = 32, .out = 32, .kernel = 3, .padding = 1, .groups = 32};
  EXPECT_NEAR(us_of(w, toy_device()), 1.280576, 1e-9);
}

TEST(Convolution, AWeightGradientOfFewTilesIsCutOverTheSms) {
  // 64 x 64 channels: one tile of 128 x 128, and 25,088 positions. Cut into 49 parts of 512 it is far faster than on
  // one SM: 100 SMs would need 1 % of one's time, 49 of them 2 %.
  sim::Device d = toy_device();
  d.gpu.hbm = base::GBps(1e9);
  spec::MatmulCurve& curve = d.calibration.matmul[static_cast<std::size_t>(spec::Dtype::bf16)];
  curve.ceiling = 1;
  curve.tile_m = curve.tile_n = 128;
  curve.half_tile = curve.quarter_tile = 1e-3;
  curve.wave_share = 1;
  const plan::Convolution w{.pass = Pass::weight_gradient, .batch = 8, .size = 56, .in = 64, .out = 64};
  // A wave of one part each: 2 x 128 x 128 x 512 FLOP on an SM of 10 TFLOP/s.
  EXPECT_NEAR(us_of(w, d), 2.0 * 128 * 128 * 512 / 1e7, 1e-6);
}

TEST(Convolution, NeverGainsByASlowerMemory) {
  sim::Device slow = toy_device();
  slow.gpu.hbm = base::GBps(500);
  for (const Pass pass : {Pass::forward, Pass::data_gradient, Pass::weight_gradient}) {
    for (int size = 1; size < 60; size += 3) {
      const plan::Convolution w{
          .pass = pass, .batch = 2, .size = size, .in = 24, .out = 40, .kernel = 3, .stride = 2, .padding = 1};
      EXPECT_LE(us_of(w, toy_device()), us_of(w, slow));
    }
  }
}

}  // namespace
