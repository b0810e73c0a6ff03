// tests/sim/calibrate/fits_test.cpp -- rows made from a known curve give that curve back, whatever stood there before.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "sim/calibrate/attention_fit.h"
#include "sim/calibrate/matmul_fit.h"
#include "sim/calibrate/memory_fit.h"
#include "tests/sim/cost/toy_device.h"

namespace {

using config::AttentionRow;
using config::MatmulRow;
using config::MeasuredKernel;
using config::MemoryRow;

constexpr int kBf16 = static_cast<int>(spec::Dtype::bf16), kFp8 = static_cast<int>(spec::Dtype::fp8);
constexpr int kCast = static_cast<int>(plan::MemoryBound::Kind::cast);
constexpr int kCopy = static_cast<int>(plan::MemoryBound::Kind::copy);
constexpr int kFlash2 = static_cast<int>(spec::AttentionKernel::flash2);

/// What measured rows of `truth` would say, each off by what `error` says (of the logarithm).
template <class Error>
std::vector<MeasuredKernel> measured(std::vector<MeasuredKernel> rows, const sim::Device& truth, Error error) {
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].time = sim::time_of(rows[i], truth, truth) * std::exp(error(i));
  return rows;
}
double exact(std::size_t) { return 0; }

sim::MeasuredRows all_of(const std::vector<MeasuredKernel>& rows) {
  sim::MeasuredRows out;
  for (const MeasuredKernel& row : rows) out.push_back(&row);
  return out;
}

/// 11^3 = 1,331 shapes from 256 to 8,192 a side, half an octave apart, none a multiple of all tiles.
std::vector<MeasuredKernel> sweep(spec::Dtype dtype, bool holds_cast) {
  std::vector<std::int64_t> sides;
  for (int i = 0; i < 11; ++i) sides.push_back(static_cast<std::int64_t>(256 * std::pow(2.0, i / 2.0)));
  std::vector<MeasuredKernel> rows;
  for (const auto m : sides) {
    for (const auto n : sides) {
      for (const auto k : sides) {
        MatmulRow row{.m = m, .n = n, .k = k, .dtype = dtype};
        row.holds_cast = holds_cast;
        rows.push_back({"toy", 0, row, {}, false});
      }
    }
  }
  return rows;
}

sim::Device true_device() {
  sim::Device truth = toy_device();
  for (const int dtype : {kBf16, kFp8}) {
    spec::MatmulCurve& c = truth.calibration.matmul[dtype];
    c.ceiling = 0.8;
    c.tile_m = 128;
    c.tile_n = 256;
    c.half_tile = 0.9;
    c.quarter_tile = 0.7;
    c.k_half = 200;
    c.wave_share = 0.4;
    c.memory = 0.75;
    c.overhead = base::us(4);
  }
  truth.calibration.memory[kCast] = {0.5, base::us(3), {}};
  truth.calibration.memory[kCopy] = {0.9, base::us(5), {}};
  return truth;
}

TEST(Fits, AMatmulCurveIsFoundFromItsRows) {
  const auto rows = measured(sweep(spec::Dtype::bf16, false), true_device(), exact);
  sim::Device found = toy_device();
  sim::fit_matmul(found, spec::Dtype::bf16, all_of(rows));
  const spec::MatmulCurve& c = found.calibration.matmul[kBf16];
  EXPECT_NEAR(c.ceiling, 0.8, 0.001);
  EXPECT_NEAR(c.k_half, 200, 2);
  EXPECT_NEAR(c.wave_share, 0.4, 0.01);
  EXPECT_NEAR(c.half_tile, 0.9, 0.01);
  EXPECT_NEAR(c.quarter_tile, 0.7, 0.01);
  EXPECT_NEAR(c.memory, 0.75, 0.01);
  EXPECT_NEAR(c.overhead.si(), 4e-6, 4e-8);
}

TEST(Fits, NoiseAndAFewRowsFarOffLeaveTheCurve) {
  // 1,331 rows off by 5 %, and each fortieth three times slower, as when a clock fell: squares would take 3 % off the
  // ceiling (log(3) / 40); Huber's force ends at 0.1 and takes 0.1 / 40, a quarter of a percent.
  std::mt19937 random(7);
  std::normal_distribution<double> noise(0, 0.05);
  const auto rows = measured(sweep(spec::Dtype::bf16, false), true_device(),
                             [&](std::size_t i) { return noise(random) + (i % 40 == 0 ? std::log(3.0) : 0); });
  sim::Device found = toy_device();
  sim::fit_matmul(found, spec::Dtype::bf16, all_of(rows));
  EXPECT_NEAR(found.calibration.matmul[kBf16].ceiling, 0.8, 0.01);
  EXPECT_NEAR(found.calibration.matmul[kBf16].memory, 0.75, 0.03);
}

TEST(Fits, TheCastInsideRowsIsToldApart) {
  const auto rows = measured(sweep(spec::Dtype::fp8, true), true_device(), exact);
  sim::Device found = toy_device();
  sim::fit_matmul(found, spec::Dtype::fp8, all_of(rows));
  EXPECT_NEAR(found.calibration.matmul[kFp8].ceiling, 0.8, 0.01);
  EXPECT_NEAR(found.calibration.memory[kCast].efficiency, 0.5, 0.01);
}

TEST(Fits, FewMatmulsMoveCeilingAndOverheadAlone) {
  std::vector<MeasuredKernel> rows;
  for (const std::int64_t side : {512, 1024, 2048, 4096, 8192, 16384}) {
    rows.push_back({"toy", 0, MatmulRow{.m = side, .n = side, .k = side}, {}, false});
  }
  rows = measured(rows, true_device(), exact);
  sim::Device found = true_device();
  found.calibration.matmul[kBf16].ceiling = 0.5;
  found.calibration.matmul[kBf16].overhead = base::us(20);
  sim::fit_matmul(found, spec::Dtype::bf16, all_of(rows));
  EXPECT_NEAR(found.calibration.matmul[kBf16].ceiling, 0.8, 0.001);
  EXPECT_NEAR(found.calibration.matmul[kBf16].overhead.si(), 4e-6, 4e-8);
  EXPECT_EQ(found.calibration.matmul[kBf16].k_half, 200);
}

TEST(Fits, GroupsHaveTheirOwnPaceAndTime) {
  sim::Device truth = true_device();
  truth.calibration.matmul[kBf16].grouped.pace = 0.8;
  truth.calibration.matmul[kBf16].grouped.each = base::us(3);
  truth.calibration.matmul[kBf16].grouped.from.source = "toy";
  std::vector<MeasuredKernel> rows;
  for (const std::int64_t groups : {4, 8, 32, 128}) {
    for (const std::int64_t m : {64, 256, 1024}) {
      MatmulRow row{.m = m, .n = 2048, .k = 1024, .batch = groups};
      row.grouped = true;
      rows.push_back({"toy", 0, row, {}, false});
    }
  }
  rows = measured(rows, truth, exact);
  sim::Device found = true_device();
  sim::fit_grouped(found, spec::Dtype::bf16, all_of(rows));
  EXPECT_NEAR(found.calibration.matmul[kBf16].grouped.pace, 0.8, 0.001);
  EXPECT_NEAR(found.calibration.matmul[kBf16].grouped.each.si(), 3e-6, 3e-9);
}

std::vector<MeasuredKernel> passes(bool framework) {
  std::vector<MeasuredKernel> rows;
  for (const auto pass : {AttentionRow::Passes::forward, AttentionRow::Passes::backward}) {
    for (const std::int64_t tokens : {512, 1024, 2048, 8192, 16384}) {
      for (const int width : {64, 128, 256}) {
        for (const bool causal : {false, true}) {
          AttentionRow row;
          row.passes = pass;
          if (!framework) row.kernel = spec::AttentionKernel::flash2;
          row.batch = 16384 / tokens;
          row.q_len = row.kv_len = tokens;
          row.heads = row.kv_heads = 2048 / width;
          row.head_dim = row.value_head_dim = width;
          row.causal = causal;
          rows.push_back({"toy", 0, row, {}, false});
        }
      }
    }
  }
  return rows;
}

sim::Device true_attention() {
  sim::Device truth = true_device();
  spec::AttentionCurve& c = truth.calibration.attention[kFlash2];
  c.forward = 0.6;
  c.backward = 0.45;
  c.ramp = 200;
  c.backward_ramp = 350;
  c.diagonal = 60;
  c.causal = 0.9;
  c.head_dim_64 = 0.8;
  c.head_dim_256 = 1.05;
  c.overhead = base::us(4);
  c.backward_measured = true;
  return truth;
}

TEST(Fits, AnAttentionCurveIsFoundFromBothPasses) {
  const auto rows = measured(passes(false), true_attention(), exact);
  sim::Device found = true_attention();
  spec::AttentionCurve& c = found.calibration.attention[kFlash2];
  c.forward = c.backward = 0.3;
  c.ramp = c.backward_ramp = c.diagonal = 10;
  c.causal = c.head_dim_64 = c.head_dim_256 = 1;
  EXPECT_EQ(sim::fit_attention(found, spec::AttentionKernel::flash2, all_of(rows)), base::Seconds{});
  EXPECT_NEAR(c.forward, 0.6, 0.002);
  EXPECT_NEAR(c.backward, 0.45, 0.002);
  EXPECT_NEAR(c.ramp, 200, 3);
  EXPECT_NEAR(c.backward_ramp, 350, 5);
  EXPECT_NEAR(c.diagonal, 60, 3);
  EXPECT_NEAR(c.causal, 0.9, 0.005);
  EXPECT_NEAR(c.head_dim_64, 0.8, 0.005);
  EXPECT_NEAR(c.head_dim_256, 1.05, 0.005);
}

TEST(Fits, HostTimeInRowsThatNameNoKernelIsFoundAndLeftOutOfTheCurve) {
  auto rows = measured(passes(true), true_attention(), exact);
  for (MeasuredKernel& row : rows) row.time = row.time + base::us(50);
  sim::Device found = true_attention();
  const base::Seconds host = sim::fit_attention(found, spec::AttentionKernel::flash2, all_of(rows));
  EXPECT_NEAR(host.si(), 50e-6, 1e-6);
  EXPECT_NEAR(found.calibration.attention[kFlash2].forward, 0.6, 0.002);
}

TEST(Fits, ABackwardPassThatNobodyMeasuredKeepsItsRatio) {
  auto rows = measured(passes(false), true_attention(), exact);
  rows.resize(rows.size() / 2);  // forward alone
  sim::Device found = true_attention();
  spec::AttentionCurve& c = found.calibration.attention[kFlash2];
  c.backward_measured = false;
  c.forward = 0.3;
  c.backward = 0.24;
  sim::fit_attention(found, spec::AttentionKernel::flash2, all_of(rows));
  EXPECT_NEAR(c.backward / c.forward, 0.8, 0.001);
  EXPECT_NEAR(c.forward, 0.6, 0.002);
}

std::vector<MeasuredKernel> copies() {
  std::vector<MeasuredKernel> rows;
  for (int i = 24; i < 33; ++i) rows.push_back({"toy", 0, MemoryRow{kCopy, 1LL << i}, {}, false});
  return rows;
}

TEST(Fits, EfficiencyAndOverheadOfCopiesAreFound) {
  const auto rows = measured(copies(), true_device(), exact);
  sim::Device found = toy_device();
  EXPECT_EQ(sim::fit_memory(found, kCopy, all_of(rows), base::us(5)), base::Seconds{});
  EXPECT_NEAR(found.calibration.memory[kCopy].efficiency, 0.9, 1e-4);
  EXPECT_NEAR(found.calibration.memory[kCopy].overhead.si(), 5e-6, 1e-8);
}

TEST(Fits, WhereTheSmallestKernelWaitsForTheHostTheOverheadStays) {
  auto rows = measured(copies(), true_device(), exact);
  for (MeasuredKernel& row : rows) row.time = row.time + base::us(40);
  sim::Device found = true_device();
  found.calibration.memory[kCopy].efficiency = 0.5;
  EXPECT_NEAR(sim::fit_memory(found, kCopy, all_of(rows), base::us(45)).si(), 40e-6, 1e-7);
  EXPECT_NEAR(found.calibration.memory[kCopy].efficiency, 0.9, 1e-3);
  EXPECT_EQ(found.calibration.memory[kCopy].overhead, base::us(5));
}

}  // namespace
