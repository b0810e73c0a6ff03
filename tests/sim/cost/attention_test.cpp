// tests/sim/cost/attention_test.cpp -- each term of the formula alone, then laws over random shapes.
// SPDX-License-Identifier: Apache-2.0
#include "sim/cost/attention.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/sim/cost/toy_device.h"

namespace {

constexpr auto kFlash2 = static_cast<std::size_t>(spec::AttentionKernel::flash2);
double us_of(const plan::Attention& w, const sim::Device& d) { return sim::price(w, d).time.si() * 1e6; }
plan::Attention shape() {
  return {.batch = 2, .q_len = 10000, .kv_len = 10000, .heads = 25, .kv_heads = 25, .head_dim = 128, .causal = false};
}

TEST(Attention, WithoutACalibrationIsARoofline) {
  // 4 x 2 x 25 x 128 x 1e8 = 2.56e12 FLOP at 1 PFLOP/s; memory 4 x 10000 x 25 x 128 x 2 x 2 bytes = 512 us is shorter.
  EXPECT_NEAR(us_of(shape(), toy_device()), 2560, 1e-6);
}
TEST(Attention, ACausalMaskHalvesAndBackwardTakesFiveMatmulsForTwo) {
  plan::Attention w = shape();
  w.causal = true;
  EXPECT_NEAR(us_of(w, toy_device()), 1280, 1e-6);
  w.backward = true;
  EXPECT_NEAR(us_of(w, toy_device()), 3200, 1e-6);
}
TEST(Attention, AMaskThatIsDataIsComputedWhole) {
  plan::Attention w = shape();
  w.kernel = spec::AttentionKernel::mem_efficient;
  w.causal = true;
  w.window = 100;
  EXPECT_NEAR(us_of(w, toy_device()), 2560, 1e-6);
}
TEST(Attention, ShortSequencesWaitForMemoryAndGroupedKeysMoveLess) {
  // q = kv = 10: q and o 2 x 10 x 100 heads, k and v 2 x 10 x kv_heads, of 128 x 2 bytes, 1000 sequences.
  plan::Attention w{
      .batch = 1000, .q_len = 10, .kv_len = 10, .heads = 100, .kv_heads = 100, .head_dim = 128, .causal = false};
  EXPECT_NEAR(us_of(w, toy_device()), 1024, 1e-6);
  w.kv_heads = 25;
  EXPECT_NEAR(us_of(w, toy_device()), 640, 1e-6);
}
TEST(Attention, RampDiagonalAndPaceEnterAsTheHeaderSays) {
  sim::Device d = toy_device();
  d.calibration.attention[kFlash2] = {.forward = 0.5,
                                      .backward = 0.25,
                                      .ramp = 2500,
                                      .diagonal = 2500,
                                      .causal = 0.8,
                                      .overhead = base::us(7),
                                      .from = {}};
  plan::Attention w = shape();
  EXPECT_NEAR(us_of(w, d), 7 + 2560 * 2 * 1.25, 1e-6);  // (10000 + 2500) keys at half the pace
  w.causal = true;
  EXPECT_NEAR(us_of(w, d), 7 + 2560 * 2 * 1.0 / 0.8, 1e-6);  // (5000 + 2500 + 2500) keys, 0.8 of the pace
  w.backward = true;
  EXPECT_NEAR(us_of(w, d), 14 + 2.5 * 2560 * 4 * 1.0 / 0.8, 1e-6);
  d.calibration.attention[kFlash2].backward_ramp = 5000;
  EXPECT_NEAR(us_of(w, d), 14 + 2.5 * 2560 * 4 * 1.25 / 0.8, 1e-6);  // (5000 + 5000 + 2500) keys
}
TEST(Attention, EachPassInFp8HasItsShareOfTwiceThePeak) {
  sim::Device d = toy_device();
  d.gpu.peak[static_cast<int>(spec::Dtype::fp8)] = base::TFLOPps(2000);
  d.calibration.attention[kFlash2] = {.forward = 1, .backward = 1, .low_precision = 0.75, .overhead = {}, .from = {}};
  plan::Attention w = shape();
  w.dtype = spec::Dtype::fp8;
  EXPECT_NEAR(us_of(w, d), 2560 / (2 * 0.75), 1e-6);
  w.backward = true;
  EXPECT_NEAR(us_of(w, d), 2.5 * 2560 / (2 * 0.75), 1e-6);  // as forward where nothing is said
  d.calibration.attention[kFlash2].backward_low_precision = 0.5;
  EXPECT_NEAR(us_of(w, d), 2.5 * 2560 / (2 * 0.5), 1e-6);
}
TEST(Attention, DropoutSlowsTheBusyTimeAlone) {
  sim::Device d = toy_device();
  d.calibration.attention[kFlash2] = {
      .forward = 1, .backward = 1, .dropout = 1.25, .overhead = base::us(7), .from = {}};
  plan::Attention w = shape();
  w.dropout = true;
  EXPECT_NEAR(us_of(w, d), 7 + 3200, 1e-6);
}
TEST(Attention, AHeadOf64RunsAtItsOwnPaceAndOf96HalfWay) {
  sim::Device d = toy_device();
  d.calibration.attention[kFlash2] = {.forward = 1, .backward = 1, .head_dim_64 = 0.5, .overhead = {}, .from = {}};
  plan::Attention w = shape();
  w.head_dim = 64;
  EXPECT_NEAR(us_of(w, d), 2560, 1e-6);  // half the FLOPs at half the pace
  w.head_dim = 96;
  EXPECT_NEAR(us_of(w, d), 2560 * 0.75 / 0.75, 1e-6);
}
TEST(Attention, FlashAttentionOneRunsHeadsBetween64And128AsThoseOf128) {
  plan::Attention w = shape();
  w.kernel = spec::AttentionKernel::flash1;
  sim::Device d = toy_device();
  d.calibration.attention[static_cast<int>(w.kernel)] = {
      .forward = 1, .backward = 1, .head_dim_64 = 1.5, .overhead = {}, .from = {}};
  EXPECT_NEAR(us_of(w, d), 2560, 1e-6);
  w.head_dim = 96;  // as long as with 128
  EXPECT_NEAR(us_of(w, d), 2560, 1e-6);
  w.head_dim = 64;  // half of the FLOPs at 1.5 times the pace
  EXPECT_NEAR(us_of(w, d), 2560 / 2 / 1.5, 1e-6);
}

TEST(Attention, HeadsWhoseValuesAreNarrowerThanKeysHaveAPaceOfTheirOwn) {
  // Heads of 192 and 128 take 160/128 of the time at the pace of 128: 3200 us without curves, of two matmuls of 192 and
  // 128. Half of that pace doubles it, whatever heads of 256 do; without a pace of their own they are between 128 and
  // 256 as those of 160: 1 + (0.2 - 1) x 32 / 128 = 0.8. A kernel that pads values has heads of 192.
  constexpr auto kCudnn = static_cast<std::size_t>(spec::AttentionKernel::cudnn);
  plan::Attention w = shape();
  w.kernel = spec::AttentionKernel::cudnn;
  w.head_dim = 192;
  w.value_head_dim = 128;
  sim::Device d = toy_device();
  spec::AttentionCurve& curve = d.calibration.attention[kCudnn];
  curve.forward = curve.backward = 1;
  curve.head_dim_256 = 0.2;
  EXPECT_NEAR(us_of(w, d), 3200 / 0.8, 1e-6);
  curve.unequal_heads = 0.5;
  EXPECT_NEAR(us_of(w, d), 3200 / 0.5, 1e-6);
  d.calibration.attention[kFlash2] = curve;
  w.kernel = spec::AttentionKernel::flash2;
  EXPECT_NEAR(us_of(w, d), 2560 * 1.5 / 0.6, 1e-6);  // 1 + (0.2 - 1) x 64 / 128
}
TEST(Attention, OneHeadCannotFillTheGpu) {
  // 128 queries of one head: one block on one of 100 SMs, so 100 times the share of the whole GPU.
  const plan::Attention w{
      .batch = 1, .q_len = 128, .kv_len = 100000, .heads = 1, .kv_heads = 1, .head_dim = 128, .causal = false};
  EXPECT_NEAR(us_of(w, toy_device()), 100 * 4.0 * 128 * 128 * 1e5 / 1e9, 1e-6);
}
TEST(Attention, RandomShapesGrowWithWorkAndShrinkWithTheDevice) {
  std::mt19937 random(11);
  std::uniform_int_distribution<std::int64_t> tokens(1, 20000);
  sim::Device d = toy_device(), peak = d, hbm = d;
  peak.gpu.peak.fill(base::TFLOPps(1500));
  hbm.gpu.hbm = base::GBps(2500);
  for (int i = 0; i < 2000; ++i) {
    plan::Attention w = shape();
    w.batch = 1 + i % 5;
    w.q_len = w.kv_len = tokens(random);
    w.causal = i % 2 == 0;
    w.window = i % 3 == 0 ? tokens(random) : 0;
    w.backward = i % 7 == 0;
    plan::Attention batch = w, longer = w, open = w;
    batch.batch += 1;
    longer.q_len = longer.kv_len = w.q_len + 500;
    open.window = 0;
    EXPECT_LE(us_of(w, d), us_of(batch, d));
    EXPECT_LE(us_of(w, d), us_of(longer, d));
    EXPECT_LE(us_of(w, d), us_of(open, d) * (1 + 1e-12));
    EXPECT_LE(us_of(w, peak), us_of(w, d));
    EXPECT_LE(us_of(w, hbm), us_of(w, d));
  }
}

}  // namespace
