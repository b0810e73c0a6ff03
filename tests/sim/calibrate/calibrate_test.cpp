// SPDX-License-Identifier: Apache-2.0
#include "sim/calibrate/calibrate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "sim/calibrate/measured_row.h"
#include "tests/sim/cost/toy_device.h"

namespace {

using config::MatmulRow;
using config::MeasuredKernel;
using config::MemoryRow;
using Verdict = result::CurveFit::Verdict;

constexpr int kBf16 = static_cast<int>(spec::Dtype::bf16), kTf32 = static_cast<int>(spec::Dtype::tf32);
constexpr int kCopy = static_cast<int>(plan::MemoryBound::Kind::copy);

/// A calibration of the toy GPU, its curve assumed in part, and one of another GPU that took it over.
std::vector<sim::Calibratable> shelf() {
  sim::Calibratable own;
  own.gpu = toy_device().gpu;
  own.fitted = true;
  own.calibration.name = "toy";
  own.calibration.gpu = "toy";
  own.calibration.measured_as = {"Toy 80GB"};
  spec::MatmulCurve& c = own.calibration.matmul[kBf16];
  c.ceiling = 0.5;
  c.tile_m = 128;
  c.tile_n = 256;
  c.overhead = base::us(3);
  c.from = {true, "old rows", 3, 0.1};
  own.calibration.matmul[kTf32] = c;
  own.calibration.matmul[kTf32].from = {false, "as bf16", 0, 0.2};
  own.calibration.memory[kCopy] = {0.5, base::us(4), {true, "old copies", 1, 0.1}};
  own.calibration.sources = {"old rows", "a letter"};
  sim::Calibratable other = own;
  other.fitted = false;
  other.calibration.name = "sister";
  other.calibration.measured_as.clear();
  other.calibration.matmul[kBf16].from.measured = false;
  other.calibration.matmul[kBf16].ceiling = 0.25;  // at half of its pace
  return {own, other};
}

/// Rows at 0.8 of the peak and 4 us from "lab/a", fewer and slower ones from "lab/b".
config::KernelTables tables() {
  sim::Device truth{shelf()[0].gpu, shelf()[0].calibration};
  truth.calibration.matmul[kBf16].ceiling = 0.8;
  truth.calibration.matmul[kBf16].overhead = base::us(4);
  config::KernelTables out;
  const int a = out.source("lab/a sweep"), b = out.source("lab/b sweep");
  for (const std::int64_t side : {256, 512, 1024, 2048, 4096, 8192}) {
    MeasuredKernel row{"Toy 80GB", a, MatmulRow{.m = side, .n = side, .k = side}, {}, false};
    row.time = sim::time_of(row, truth, truth);
    out.rows.push_back(row);
    if (side <= 4096) continue;
    row.source = b;
    row.time = row.time * 2;
    out.rows.push_back(row);
  }
  out.rows.push_back({"Toy 80GB", a, MatmulRow{.m = 8, .n = 512, .k = 512}, base::us(9), false});
  out.rows.push_back({"Another", a, MatmulRow{.m = 512, .n = 512, .k = 512}, base::us(9), false});
  return out;
}

const result::CurveFit& told(const sim::FittedCalibrations& found, const std::string& source) {
  for (const result::CurveFit& one : found.report.curves) {
    if (one.source == source) return one;
  }
  ADD_FAILURE() << source << " is not told";
  static const result::CurveFit none;
  return none;
}

TEST(CalibrateKernels, RowsThatNoGpuOfThatDataSheetRunsAreLeftOut) {
  // 0.8 of the peak, 1,000 times as fast: microseconds taken for milliseconds.
  config::KernelTables slip = tables();
  for (MeasuredKernel& row : slip.rows) row.time = row.time / 1000.0;
  const sim::FittedCalibrations found = sim::calibrate_kernels(slip, shelf());
  EXPECT_EQ(found.calibrations[0].matmul[kBf16].from.source, "old rows");
  // 6 of lab/a and 1 of lab/b; the row below 256 is left out before.
  EXPECT_EQ(found.report.left_out.at("kernels faster than 1.5 times what the data sheet of their GPU allows"), 7);
}

TEST(CalibrateKernels, SoAreRowsOfAttention) {
  // One sequence of 4,096 tokens, 16 heads of 128, no mask: 2 x 16 x 4096^2 x 256 = 137 GFLOP forward, 137 us at the
  // toy's 1 PFLOP/s; 92 us are 1.5 times as fast. Backward has two and a half times as many, both three and a half.
  using Passes = config::AttentionRow::Passes;
  const auto left_out = [](Passes passes, double us, bool causal) {
    config::KernelTables all = tables();
    config::AttentionRow row{.passes = passes, .kernel = spec::AttentionKernel::flash2, .batch = 1, .q_len = 4096};
    row.kv_len = row.q_len;
    row.heads = row.kv_heads = 16;
    row.head_dim = row.value_head_dim = 128;
    row.causal = causal;
    all.rows = {{"Toy 80GB", 0, row, base::us(us), false}};
    return !sim::calibrate_kernels(all, shelf()).report.left_out.empty();
  };
  EXPECT_TRUE(left_out(Passes::forward, 91, false));
  EXPECT_FALSE(left_out(Passes::forward, 92, false));
  EXPECT_FALSE(left_out(Passes::forward, 47, true));  // half of the pairs
  EXPECT_TRUE(left_out(Passes::forward, 45, true));
  EXPECT_TRUE(left_out(Passes::backward, 2.5 * 91, false));
  EXPECT_FALSE(left_out(Passes::both, 3.5 * 92, false));
}

TEST(CalibrateKernels, RowsThatScatterByAFactorAreNoCurve) {
  config::KernelTables torn = tables();
  for (std::size_t i = 0; i < torn.rows.size(); i += 2) torn.rows[i].time = torn.rows[i].time * 1000.0;
  const sim::FittedCalibrations found = sim::calibrate_kernels(torn, shelf());
  EXPECT_EQ(found.calibrations[0].matmul[kBf16].from.source, "old rows");
  EXPECT_EQ(told(found, "lab/a").verdict, Verdict::kept);
}

TEST(CalibrateKernels, FourRowsAreTooFewForACurve) {
  config::KernelTables few = tables();
  std::erase_if(few.rows, [](const MeasuredKernel& row) {
    const auto& shape = std::get<MatmulRow>(row.shape);
    return row.source != 0 || shape.k < 1024;
  });
  const sim::FittedCalibrations found = sim::calibrate_kernels(few, shelf());
  EXPECT_EQ(told(found, "lab/a").verdict, Verdict::too_few);
}

TEST(CalibrateKernels, TheSourceWithMostRowsIsFittedAndOthersAreToldBeside) {
  const sim::FittedCalibrations found = sim::calibrate_kernels(tables(), shelf());
  const spec::MatmulCurve& c = found.calibrations[0].matmul[kBf16];
  EXPECT_NEAR(c.ceiling, 0.8, 0.001);
  EXPECT_TRUE(c.from.measured);
  EXPECT_EQ(c.from.rows, 6);
  const result::CurveFit& fitted = told(found, "lab/a");
  EXPECT_EQ(fitted.verdict, Verdict::replaced);
  EXPECT_GT(fitted.before.median_abs, 0.15);
  EXPECT_LT(fitted.after.median_abs, 0.001);
  const result::CurveFit& beside = told(found, "lab/b");
  EXPECT_EQ(beside.verdict, Verdict::not_fitted);
  EXPECT_NEAR(beside.after.median, -std::log(2.0), 0.001);
  EXPECT_EQ(found.report.left_out.at("matmuls with a side below 256"), 1);
  EXPECT_EQ(found.report.left_out.at("kernels of GPUs that no calibration is fitted to"), 1);
}

TEST(CalibrateKernels, CopiesFollowInTheRatioTheyStoodInAndWhatNoRowTellsStays) {
  const sim::FittedCalibrations found = sim::calibrate_kernels(tables(), shelf());
  EXPECT_EQ(found.calibrations[0].matmul[kTf32].ceiling, found.calibrations[0].matmul[kBf16].ceiling);
  EXPECT_EQ(found.calibrations[0].matmul[kTf32].from.source, "as bf16");
  EXPECT_NEAR(found.calibrations[1].matmul[kBf16].ceiling, 0.4, 0.001);
  EXPECT_EQ(found.calibrations[0].memory[kCopy].efficiency, 0.5);
  EXPECT_THAT(found.report.followed, testing::Contains("sister matmul bf16: as toy matmul bf16"));
  EXPECT_THAT(found.calibrations[0].sources, testing::Not(testing::Contains("old rows")));
  EXPECT_THAT(found.calibrations[0].sources, testing::Contains("a letter"));
}

TEST(CalibrateKernels, FittingAgainChangesNothing) {
  const sim::FittedCalibrations once = sim::calibrate_kernels(tables(), shelf());
  std::vector<sim::Calibratable> again = shelf();
  for (std::size_t i = 0; i < again.size(); ++i) again[i].calibration = once.calibrations[i];
  const sim::FittedCalibrations twice = sim::calibrate_kernels(tables(), again);
  for (std::size_t i = 0; i < again.size(); ++i) {
    EXPECT_EQ(twice.calibrations[i].matmul[kBf16].ceiling, once.calibrations[i].matmul[kBf16].ceiling);
    EXPECT_EQ(twice.calibrations[i].matmul[kBf16].overhead, once.calibrations[i].matmul[kBf16].overhead);
    EXPECT_EQ(twice.calibrations[i].sources, once.calibrations[i].sources);
  }
  EXPECT_TRUE(twice.report.followed.empty());
}

TEST(CalibrateKernels, ACurveThatMeetsTheRowsBetterIsKept) {
  // The copies have sizes that two constants cannot meet: the curve that stands there lies on two of three, any fit of
  // efficiency and overhead within its bounds (0.5 us at least) misses all.
  std::vector<sim::Calibratable> on = shelf();
  on[0].calibration.memory[kCopy] = {0.5, base::us(0.1), {true, "by hand", 3, 0.1}};
  config::KernelTables rows;
  const int a = rows.source("lab/a");
  for (const std::int64_t bytes : {100'000, 200'000, 400'000}) {
    MeasuredKernel row{"Toy 80GB", a, MemoryRow{kCopy, bytes}, {}, false};
    row.time = base::us(0.1) + base::Bytes(static_cast<double>(bytes)) / (on[0].gpu.hbm * 0.5);
    rows.rows.push_back(row);
  }
  const sim::FittedCalibrations found = sim::calibrate_kernels(rows, on);
  EXPECT_EQ(told(found, "lab/a").verdict, Verdict::kept);
  EXPECT_EQ(found.calibrations[0].memory[kCopy].from.source, "by hand");
}

/// tables(), and grouped matmuls of "lab/b", whose machine takes twice as long for single ones.
config::KernelTables grouped_tables(double pace, int single_rows) {
  config::KernelTables out = tables();
  sim::Device truth{shelf()[0].gpu, shelf()[0].calibration};
  spec::MatmulCurve& c = truth.calibration.matmul[kBf16];
  c.ceiling = 0.8;
  c.overhead = base::us(4);
  c.grouped.pace = pace;
  c.grouped.each = base::us(2);
  c.grouped.from = {true, "truth", 1, 0.1};
  const int b = out.source("lab/b sweep");
  for (int i = 0; i < single_rows; ++i) {
    MeasuredKernel row{"Toy 80GB", b, MatmulRow{.m = 4096 + 512 * i, .n = 4096, .k = 4096}, {}, false};
    row.time = sim::time_of(row, truth, truth) * 2;
    out.rows.push_back(row);
  }
  for (const std::int64_t tokens : {256, 512, 1024, 2048, 4096}) {
    for (const std::int64_t groups : {8, 64}) {
      MatmulRow shape{.m = tokens, .n = 4096, .k = 4096, .batch = groups};
      shape.grouped = true;
      MeasuredKernel row{"Toy 80GB", b, shape, {}, false};
      row.time = sim::time_of(row, truth, truth) * 2;
      out.rows.push_back(row);
    }
  }
  return out;
}

TEST(CalibrateKernels, GroupedMatmulsAreHeldAgainstSingleOnesOfTheSameMachine) {
  // All of lab/b's times are twice those of the machine behind the curve, single and grouped: the pace is 0.8 all the
  // same, and a group takes 2 us of the curve's machine.
  const sim::FittedCalibrations found = sim::calibrate_kernels(grouped_tables(0.8, 4), shelf());
  const spec::MatmulCurve& c = found.calibrations[0].matmul[kBf16];
  EXPECT_NEAR(c.grouped.pace, 0.8, 0.01);
  EXPECT_NEAR(c.grouped.each.si(), 2e-6, 2e-7);
  EXPECT_THAT(c.grouped.from.source, testing::HasSubstr("against its own single matmuls, 2.00 times the curve's"));
}

TEST(CalibrateKernels, GroupedMatmulsOfASourceWithoutSingleOnesAreTakenAsTheyAre) {
  // One single matmul is no level: 0.8 at half of the curve's pace is 0.4.
  const sim::FittedCalibrations found = sim::calibrate_kernels(grouped_tables(0.8, 0), shelf());
  EXPECT_NEAR(found.calibrations[0].matmul[kBf16].grouped.pace, 0.4, 0.01);
}

TEST(CalibrateKernels, GroupsThatFollowedKeepAPaceOfTheirOwnOnceRowsTellIt) {
  // tf32's groups were assumed as bf16's. Both get rows; those of tf32, at 0.6, are not overwritten by bf16's new pace.
  std::vector<sim::Calibratable> on = shelf();
  for (const int dtype : {kBf16, kTf32}) {
    spec::MatmulCurve& c = on[0].calibration.matmul[dtype];
    c.grouped.pace = 0.5;
    c.grouped.each = base::us(1);
    c.grouped.from = {dtype == kBf16, dtype == kBf16 ? "old groups" : "as bf16", 0, 0.2};
  }
  config::KernelTables rows = grouped_tables(0.8, 4);
  const int c = rows.source("lab/c sweep");
  const std::vector<MeasuredKernel> before = rows.rows;
  for (MeasuredKernel row : before) {
    MatmulRow& shape = std::get<MatmulRow>(row.shape);
    if (!shape.grouped) continue;
    shape.dtype = spec::Dtype::tf32;
    row.source = c;
    sim::Device truth{on[0].gpu, on[0].calibration};
    truth.calibration.matmul[kTf32].grouped.pace = 0.6;
    truth.calibration.matmul[kTf32].ceiling = 0.8;  // as the curve will follow bf16's
    row.time = sim::time_of(row, truth, truth);
    rows.rows.push_back(row);
  }
  const sim::FittedCalibrations found = sim::calibrate_kernels(rows, on);
  EXPECT_NEAR(found.calibrations[0].matmul[kBf16].grouped.pace, 0.8, 0.01);
  EXPECT_TRUE(found.calibrations[0].matmul[kTf32].grouped.from.measured);
  EXPECT_NE(found.calibrations[0].matmul[kTf32].grouped.pace, found.calibrations[0].matmul[kBf16].grouped.pace);
}

TEST(CalibrateKernels, ResidualsHoldMeasuredAndPredictedTimesOfEachPoint) {
  const sim::FittedCalibrations found = sim::calibrate_kernels(tables(), shelf());
  const result::ResidualTable& matmul = found.report.residuals.at(0);
  ASSERT_EQ(matmul.rows.size(), 7u);
  EXPECT_EQ(matmul.columns.size(), matmul.rows[0].size());
  EXPECT_EQ(matmul.rows[0][0], "toy");
  EXPECT_EQ(matmul.rows[0][3], "256");
  EXPECT_NEAR(std::stod(matmul.rows[0][9]), 0, 0.001);
}

}  // namespace
