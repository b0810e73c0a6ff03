// tests/sim/cost/matmul_test.cpp -- hand-made devices, then laws over random shapes.
// SPDX-License-Identifier: Apache-2.0
#include "sim/cost/matmul.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/sim/cost/toy_device.h"

namespace {

constexpr auto kBf16 = static_cast<std::size_t>(spec::Dtype::bf16);
double us_of(const plan::Matmul& w, const sim::Device& d) { return sim::price(w, d).time.si() * 1e6; }
double corner(double a, double b) { return std::pow(std::pow(a, 4) + std::pow(b, 4), 0.25); }

/// Tiles of 100 x 100, a whole wave for every partial one; smaller tiles are as good as useless, memory is free.
sim::Device tiled() {
  sim::Device d = toy_device();
  d.gpu.hbm = base::GBps(1e9);
  spec::MatmulCurve& c = d.calibration.matmul[kBf16];
  c.ceiling = 0.5;
  c.tile_m = c.tile_n = 100;
  c.half_tile = c.quarter_tile = 1e-3;
  c.wave_share = 1;
  return d;
}

TEST(Matmul, WithoutACalibrationIsARooflineWithARoundCorner) {
  // 10000^3: 2e12 FLOP take 2000 us; 6e8 bytes take 600 us.
  EXPECT_NEAR(us_of({.m = 10000, .n = 10000, .k = 10000}, toy_device()), corner(2000, 600), 1e-6);
}
TEST(Matmul, ASmallOneWaitsForMemory) {
  // 1000^3: 2 us of math; 3e6 elements of 2 bytes take 6 us.
  EXPECT_NEAR(us_of({.m = 1000, .n = 1000, .k = 1000}, toy_device()), corner(2, 6), 1e-9);
}
TEST(Matmul, GroupsCostTheirPaceAndTheirOverheadOnlyWhereMeasured) {
  // Batched 4 x 1000^3 without calibration of groups: no difference. With pace 0.5 and 3 us a group: twice, and 12 us.
  sim::Device d = tiled();
  const plan::Matmul batched{.m = 1000, .n = 1000, .k = 1000, .batch = 4};
  plan::Matmul grouped = batched;
  grouped.grouped = true;
  const double before = us_of(batched, d);
  EXPECT_EQ(us_of(grouped, d), before);
  spec::MatmulCurve& c = d.calibration.matmul[kBf16];
  c.grouped.pace = 0.5;
  c.grouped.each = base::us(3);
  c.grouped.from.source = "toy";
  EXPECT_NEAR(us_of(grouped, d), 2 * before + 12, 1e-9);
  EXPECT_EQ(us_of(batched, d), before);
}
TEST(Matmul, GroupsOfTorchGroupedMmHaveItsPaceWhereThatIsKnown) {
  // As above, with a pace of 0.25 and 1 us a group for the one kernel: four times, and 4 us; in fp16, too, which has no
  // figures of its own and takes bf16's.
  sim::Device d = tiled();
  constexpr auto kFp16 = static_cast<std::size_t>(spec::Dtype::fp16);
  spec::MatmulCurve& c = d.calibration.matmul[kBf16];
  c.grouped.pace = 0.5;
  c.grouped.each = base::us(3);
  c.grouped.from.source = "toy";
  d.calibration.matmul[kFp16] = {};
  plan::Matmul w{.m = 1000, .n = 1000, .k = 1000, .batch = 4};
  const double batched = us_of(w, d);
  w.grouped = true;
  d.calibration.grouped_mm = true;
  EXPECT_NEAR(us_of(w, d), 2 * batched + 12, 1e-9) << "not known: as other grouped ones";
  c.grouped_mm.pace = 0.25;
  c.grouped_mm.each = base::us(1);
  c.grouped_mm.from = {true, "toy", 3, 0.125};
  EXPECT_NEAR(us_of(w, d), 4 * batched + 4, 1e-9);
  EXPECT_EQ(sim::price(w, d).residual, 0.125);
  w.dtype = spec::Dtype::fp32;  // which PyTorch multiplies by another kernel
  const double grouped_in_fp32 = us_of(w, d);
  w.grouped = false;
  EXPECT_NEAR(grouped_in_fp32, 2 * us_of(w, d) + 12, 1e-9);
  w.grouped = true;
  w.dtype = spec::Dtype::bf16;
  d.calibration.grouped_mm = false;
  EXPECT_NEAR(us_of(w, d), 2 * batched + 12, 1e-9) << "not called";
}
TEST(Matmul, ExpertsWithAnOddNumberOfTokensKeepTheTensorCores) {
  // The weight gradient of 20 experts of 1229 tokens: k counts tokens, which are whole rows wherever they start.
  // 20 x 1000 x 1000 x 1229: 4.916e10 FLOP take 49.16 us at 1 PFLOP/s; batched matrices would take 4,916 at 10 TFLOP/s.
  sim::Device d = toy_device();
  d.gpu.hbm = base::GBps(1e9);  // free
  d.gpu.peak[static_cast<std::size_t>(spec::Dtype::fp32)] = base::TFLOPps(10);
  const plan::Matmul batched{.m = 1000, .n = 1000, .k = 1229, .batch = 20};
  plan::Matmul grouped = batched;
  grouped.grouped = true;
  EXPECT_NEAR(us_of(grouped, d), 49.16, 1e-2);
  EXPECT_NEAR(us_of(batched, d), 4916, 1);
}
TEST(Matmul, GradientsOf8BitOperandsKeepToTheirPace) {
  // 10000^3 in fp8 at 1 PFLOP/s: 2000 us, at a pace of 0.8 2500 us; the memory is free.
  sim::Device d = toy_device();
  d.gpu.hbm = base::GBps(1e9);
  constexpr auto kFp8 = static_cast<std::size_t>(spec::Dtype::fp8);
  plan::Matmul w{.m = 10000, .n = 10000, .k = 10000, .dtype = spec::Dtype::fp8};
  d.calibration.matmul[kFp8] = d.calibration.matmul[kBf16];
  d.calibration.matmul[kFp8].ceiling = 1;
  d.calibration.matmul[kFp8].gradients.pace = 0.8;
  EXPECT_NEAR(us_of(w, d), 2000, 1e-3);
  w.gradient = true;
  EXPECT_NEAR(us_of(w, d), 2500, 1e-3);
}
TEST(Matmul, AnFp32SumThatIsAddedToIsHiddenOnlyInPart) {
  // 100,000 x 100,000 sums of fp32, read and written: 8e10 bytes, 80 ms at 1 TB/s, of which a share of 0.5 comes behind
  // the 2 s of the same with a 16-bit result; a 16-bit sum and a product that is only written cost nothing more.
  sim::Device d = toy_device();
  const plan::Matmul plain{.m = 100'000, .n = 100'000, .k = 100'000, .out = spec::Dtype::fp32};
  plan::Matmul sum = plain, narrow = plain, result = plain;
  sum.accumulates = narrow.accumulates = true;
  narrow.out = result.out = spec::Dtype::bf16;
  const double before_plain = us_of(plain, d), before_narrow = us_of(narrow, d);
  d.calibration.accumulation = 0.5;
  EXPECT_NEAR(us_of(sum, d), us_of(result, d) + 40'000, 1e-3);
  EXPECT_EQ(us_of(plain, d), before_plain);
  EXPECT_EQ(us_of(narrow, d), before_narrow);
}
TEST(Matmul, BytesOfASumThatRuleAnywayAreNotPaidTwice) {
  // Little math: 1000 x 1000 x 10 take 0.02 us at 1 PFLOP/s. 4e4 bytes of operands and 8e6 of the sum at 1 TB/s: 8.04
  // us, and a share of 0.5, 4 us behind the 2.04 us with a 16-bit result, would be less.
  sim::Device d = toy_device();
  d.calibration.accumulation = 0.5;
  const plan::Matmul sum{.m = 1000, .n = 1000, .k = 10, .out = spec::Dtype::fp32, .accumulates = true};
  EXPECT_NEAR(us_of(sum, d), 8.04, 1e-3);
}
TEST(Matmul, BatchesWhoseRowsAreNotMultiplesOf16BytesMissTheTensorCores) {
  // 64 x 1000 x 1000 x 1000: 1.28e11 FLOP take 128 us at 1 PFLOP/s and 12,800 us at the 10 TFLOP/s of fp32.
  sim::Device d = toy_device();
  d.gpu.hbm = base::GBps(1e9);  // free
  d.gpu.peak[static_cast<std::size_t>(spec::Dtype::fp32)] = base::TFLOPps(10);
  EXPECT_NEAR(us_of({.m = 1000, .n = 1000, .k = 1000, .batch = 64}, d), 128, 1e-3);
  EXPECT_NEAR(us_of({.m = 1000, .n = 1000, .k = 1004, .batch = 64}, d), 12851.2, 1e-1);  // 8-byte rows of A and B
  EXPECT_NEAR(us_of({.m = 1000, .n = 1001, .k = 1000, .batch = 64}, d), 12812.8, 1e-1);  // 2-byte rows of B and C
  // Alone, a library finds a tensor-core kernel: 2 x 1000 x 1000 x 1004 FLOP in 2.008 us.
  EXPECT_NEAR(us_of({.m = 1000, .n = 1000, .k = 1004, .batch = 1}, d), 2.008, 1e-3);
  d.gpu.peak[static_cast<std::size_t>(spec::Dtype::fp32)] = {};  // a GPU without fp32 has no other way
  EXPECT_NEAR(us_of({.m = 1000, .n = 1000, .k = 1004, .batch = 64}, d), 128.512, 1e-3);
}
TEST(Matmul, RowsThatDoNotBeginAtMultiplesOf16BytesAreSlowerWhereThatWasMeasured) {
  // 2 x 1000 x 1000 x 1000 FLOP take 2 us at 1 PFLOP/s; 1004 are rows of 8 bytes, 1002 of 4: sqrt(0.4 x 0.1) = 0.2.
  sim::Device d = toy_device();
  d.gpu.hbm = base::GBps(1e9);  // free
  spec::MatmulCurve& curve = d.calibration.matmul[kBf16];
  curve.ceiling = 1;
  curve.unaligned.rows_of_8 = 0.4;
  curve.unaligned.rows_of_2 = 0.1;
  EXPECT_NEAR(us_of({.m = 1001, .n = 1000, .k = 1000}, d), 2.002, 1e-4);  // no operand has rows of m
  EXPECT_NEAR(us_of({.m = 1000, .n = 1004, .k = 1000}, d), 2.008 / 0.4, 1e-3);
  EXPECT_NEAR(us_of({.m = 1000, .n = 1000, .k = 1004}, d), 2.008 / 0.4, 1e-3);
  EXPECT_NEAR(us_of({.m = 1000, .n = 1002, .k = 1000}, d), 2.004 / 0.2, 1e-3);
  EXPECT_NEAR(us_of({.m = 1000, .n = 1001, .k = 1004}, d), 2.010008 / 0.1, 1e-3);
  EXPECT_NEAR(us_of({.m = 1000, .n = 200, .k = 1001}, d), 0.4004, 1e-4);  // thin
  // A weight gradient sums over tokens, and its operands' rows are as long as those of the weight.
  using enum plan::Matmul::Pass;
  EXPECT_NEAR(us_of({.m = 1000, .n = 1000, .k = 1001, .pass = weight_gradient}, d), 2.002, 1e-4);
  EXPECT_NEAR(us_of({.m = 1001, .n = 1000, .k = 1000, .pass = weight_gradient}, d), 2.002 / 0.1, 1e-3);
}
TEST(Matmul, PassesHavePacesOfTheirOwn) {
  // 2 x 1000^3 FLOP take 2 us at 1 PFLOP/s.
  sim::Device d = toy_device();
  d.gpu.hbm = base::GBps(1e9);  // free
  spec::MatmulCurve& curve = d.calibration.matmul[kBf16];
  curve.ceiling = 1;
  curve.passes.input_gradient = 0.8;
  curve.passes.weight_gradient = 0.5;
  using enum plan::Matmul::Pass;
  EXPECT_NEAR(us_of({.m = 1000, .n = 1000, .k = 1000}, d), 2, 1e-4);
  EXPECT_NEAR(us_of({.m = 1000, .n = 1000, .k = 1000, .pass = input_gradient}, d), 2.5, 1e-4);
  EXPECT_NEAR(us_of({.m = 1000, .n = 1000, .k = 1000, .pass = weight_gradient}, d), 4, 1e-4);
}
TEST(Matmul, ACalibrationMaySayThatUnalignedBatchesKeepTheTensorCores) {
  // 64 x 1000 x 1000 x 1004 at 1 PFLOP/s: 128.512 us.
  sim::Device d = toy_device();
  d.gpu.hbm = base::GBps(1e9);  // free
  d.calibration.unaligned_on_cuda_cores = false;
  EXPECT_NEAR(us_of({.m = 1000, .n = 1000, .k = 1004, .batch = 64}, d), 128.512, 1e-3);
}
TEST(Matmul, AccumulatingInFp32ReadsAndWritesC) {
  // k = 1: 2 (m + n) bytes of operands + 8 m n of C = 8,004,000 bytes, 8.004 us; math 0.002 us.
  EXPECT_NEAR(us_of({.m = 1000, .n = 1000, .k = 1, .out = spec::Dtype::fp32, .accumulates = true}, toy_device()), 8.004,
              1e-6);
}
TEST(Matmul, AFullWaveRunsAtTheCeilingAndOneTileMoreCostsAWholeWave) {
  // 1000 x 1000 is 100 tiles on 100 SMs. k = 10^6: 2e12 FLOP at 500 TFLOP/s take 4 ms. A column more makes 110 tiles,
  // two waves; split in 2 it makes 220 half waves, three halves of 4 ms; in 4, 440 quarter tiles, five quarters: 5 ms.
  sim::Device d = tiled();
  EXPECT_NEAR(us_of({.m = 1000, .n = 1000, .k = 1000000}, d), 4000, 0.1);
  EXPECT_NEAR(us_of({.m = 1000, .n = 1001, .k = 1000000}, d), 5000, 0.1);
}
TEST(Matmul, AtKHalfTheMainLoopReachesHalfThePace) {
  sim::Device d = tiled();
  d.calibration.matmul[kBf16].k_half = 1000;
  // 1000^3 takes 4 us without the ramp; (1000 + 1000) / 1000 of it with.
  EXPECT_NEAR(us_of({.m = 1000, .n = 1000, .k = 1000}, d), 8, 1e-3);
}
TEST(Matmul, ABatchOfTwoFillsTwiceTheTiles) {
  sim::Device d = tiled();
  EXPECT_NEAR(us_of({.m = 1000, .n = 1000, .k = 1000000, .batch = 2}, d), 8000, 0.1);
}
TEST(Matmul, OverheadIsAddedOnce) {
  sim::Device d = tiled();
  const double without = us_of({.m = 64, .n = 64, .k = 64}, d);
  d.calibration.matmul[kBf16].overhead = base::us(3);
  EXPECT_NEAR(us_of({.m = 64, .n = 64, .k = 64}, d), without + 3, 1e-9);
}

TEST(Matmul, RandomShapesGrowWithWorkAndShrinkWithTheDevice) {
  std::mt19937 random(7);
  std::uniform_int_distribution<std::int64_t> size(1, 9000);
  sim::Device d = toy_device();
  spec::MatmulCurve& c = d.calibration.matmul[kBf16];
  c = {.ceiling = 0.8,
       .tile_m = 128,
       .tile_n = 256,
       .half_tile = 0.9,
       .quarter_tile = 0.7,
       .k_half = 100,
       .wave_share = 0.4,
       .memory = 0.8,
       .overhead = base::us(3),
       .from = {}};
  d.calibration.matmul[static_cast<std::size_t>(spec::Dtype::fp32)] = c;
  d.calibration.power.sustained = 0.9;
  sim::Device peak = d, hbm = d;
  peak.gpu.peak.fill(base::TFLOPps(1300));
  hbm.gpu.hbm = base::GBps(1700);
  for (int i = 0; i < 3000; ++i) {
    const plan::Matmul w{.m = size(random), .n = size(random), .k = size(random), .batch = 1 + i % 3};
    plan::Matmul m = w, k = w, b = w;
    m.m += size(random);
    k.k += 8 * size(random);  // as aligned as before: a batch gains by rows that tensor cores can load
    b.batch += 1;
    const double time = us_of(w, d);
    ASSERT_TRUE(std::isfinite(time) && time > 3);
    EXPECT_LE(time, us_of(m, d));
    EXPECT_LE(time, us_of(k, d));
    EXPECT_LE(time, us_of(b, d));
    EXPECT_LE(us_of(w, peak), time);
    EXPECT_LE(us_of(w, hbm), time);
  }
}

}  // namespace
