// tests/real/calibrate/recovery_test.cpp -- tests real/calibrate/tables.h and figures.h with the fits behind them: a
// device whose curves are known is timed, and what is fitted prices it as it is. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "core/config/calibration_reader.h"
#include "core/config/calibration_writer.h"
#include "real/calibrate/figures.h"
#include "real/calibrate/machine_like.h"
#include "real/calibrate/run.h"
#include "real/calibrate/tables.h"
#include "sim/calibrate/calibrate.h"
#include "sim/calibrate/networks.h"
#include "tests/real/calibrate/fake_bench.h"
#include "tests/real/calibrate/known_device.h"

namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int kBf16 = static_cast<int>(spec::Dtype::bf16), kCudnn = static_cast<int>(spec::AttentionKernel::cudnn);

/// An H200 whose kernels are another library's: every constant that a short run can tell is drawn anew.
sim::Device drawn(unsigned seed) {
  std::mt19937_64 random(seed);
  const auto between = [&](double least, double most) {
    return least + (most - least) * (static_cast<double>(random() >> 11) / static_cast<double>(1ull << 53));
  };
  sim::Device out = fake::device();
  spec::MatmulCurve& matmul = out.calibration.matmul[kBf16];
  matmul.ceiling = between(0.55, 0.85);
  matmul.overhead = base::us(between(2, 8));
  matmul.k_half = between(50, 300);
  matmul.wave_share = between(0.05, 0.5);
  matmul.passes.input_gradient = between(0.85, 1.05);
  matmul.passes.weight_gradient = between(0.85, 1.05);
  matmul.grouped.pace = between(0.5, 0.95);
  matmul.grouped.each = base::us(between(0.5, 5));
  out.calibration.accumulation = between(0.2, 0.8);
  spec::AttentionCurve& attention = out.calibration.attention[kCudnn];
  attention.forward = between(0.4, 0.75);
  attention.backward = between(0.35, 0.65);
  attention.ramp = between(50, 400);
  for (spec::MemoryCurve& memory : out.calibration.memory) {
    memory.efficiency = between(0.5, 0.95);
    memory.overhead = base::us(between(2, 10));
  }
  return out;
}

/// Times a device for two minutes.
real::Points timed(const sim::Device& device) {
  const fake::Folder folder;
  const std::string path = (folder.path / "points").string();
  fake::Bench bench(device);
  real::PointsFile file = real::PointsFile::begin(path, fake::machine());
  real::run(bench, real::points(fake::models(), {}), file, base::s(120));
  return real::read_points(path);
}

sim::FittedCalibrations fitted(const real::Points& points) {
  const spec::Gpu gpu = fake::node().gpu;
  spec::Calibration begin = real::calibration_for(points, gpu, fake::node().calibration, "mine");
  real::apply(real::figures_of(points, gpu), points.machine, begin);
  return sim::calibrate_kernels(real::tables_of(points, gpu), {{begin, gpu, true}});
}

/// |log(price by what was found / true price)| of each shape, sorted.
std::vector<double> errors(const sim::Device& truth, const spec::Calibration& found,
                           const std::vector<real::Used>& used) {
  std::vector<double> out;
  const sim::Device cool = sim::short_run({truth.gpu, found}), exact = sim::short_run(truth);
  const auto compare = [&](auto shape) {
    config::MeasuredKernel row;
    row.shape = shape;
    out.push_back(std::abs(std::log(sim::time_of(row, cool, cool) / sim::time_of(row, exact, exact))));
  };
  for (const real::Used& one : used) {
    if (const auto* matmul = std::get_if<config::MatmulRow>(&one.shape)) compare(*matmul);
    if (const auto* attention = std::get_if<config::AttentionRow>(&one.shape)) compare(*attention);
    if (const auto* memory = std::get_if<real::MemoryOperator>(&one.shape)) {
      compare(config::MemoryRow{static_cast<int>(real::kind_of(*memory).priced_as), real::bytes_of(*memory)});
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

TEST(CalibrationRecovery, WhatIsFoundPricesTheDeviceAsItIs) {
  // Times scatter by 1 %. Of the shapes that models use, those included that no point was of (other models'), nineteen
  // of twenty are then priced within 2 %; a matmul at the edge of a wave, where a price jumps, within 8 %.
  std::vector<real::Used> used =
      real::usage_of_models(config::Catalogue(FORERUN_SOURCE_DIR), {"llama2-13b", "gpt3-175b", "qwen2.5-7b"});
  used.insert(used.end(), fake::models().begin(), fake::models().end());
  ASSERT_GT(used.size(), 150u);
  for (const unsigned seed : {1u, 2u, 3u}) {
    const sim::Device truth = drawn(seed);
    const spec::Calibration found = fitted(timed(truth)).calibrations[0];
    const std::vector<double> off = errors(truth, found, used);
    EXPECT_LT(off[off.size() * 19 / 20], 0.02) << seed;
    EXPECT_LT(off.back(), 0.08) << seed;
    // A difference of times that scatter by 1 %, of which 300 to 600 us each; the sums take 112 us.
    EXPECT_NEAR(found.accumulation, truth.calibration.accumulation, 0.06) << seed;
    // A pace and a time a group, drawn to fourteen shapes and to whatever the models add.
    const spec::MatmulCurve &was = truth.calibration.matmul[kBf16], &is = found.matmul[kBf16];
    EXPECT_NEAR(is.grouped.pace / was.grouped.pace, 1, 0.03) << seed;
    EXPECT_NEAR(is.grouped.each / was.grouped.each, 1, 0.1) << seed;
    EXPECT_NEAR(is.passes.input_gradient / was.passes.input_gradient, 1, 0.02) << seed;
    EXPECT_NEAR(is.passes.weight_gradient / was.passes.weight_gradient, 1, 0.02) << seed;
    EXPECT_TRUE(is.passes.from.measured);
    EXPECT_TRUE(is.grouped.from.measured);
    EXPECT_THAT(is.grouped.from.source, StartsWith("forerun on NVIDIA H200, 2026-11-22, driver 580.65.06"));
    EXPECT_TRUE(found.matmul[kBf16].from.measured);
    EXPECT_THAT(found.matmul[kBf16].from.source, StartsWith("forerun on NVIDIA H200, 2026-11-22, driver 580.65.06"));
    EXPECT_TRUE(found.attention[kCudnn].from.measured && found.attention[kCudnn].backward_measured);
  }
}

TEST(CalibrationRecovery, InterferenceAndClocksAreTheDevices) {
  const real::Points points = timed(fake::device());
  const real::Figures figures = real::figures_of(points, fake::node().gpu);
  // The fake's constants; medians of times that scatter by 1 % lie within 1 %.
  ASSERT_TRUE(figures.compute_slowdown && figures.comm_slowdown && figures.sustained && figures.to_device);
  EXPECT_NEAR(*figures.compute_slowdown, fake::Bench::kComputeSlowdown, 0.01 * 1.2);
  EXPECT_NEAR(*figures.comm_slowdown, fake::Bench::kCommSlowdown, 0.01 * 1.1);
  EXPECT_NEAR(*figures.sustained, fake::Bench::kSustained, 0.01 * 0.9);
  // Kernels scatter evenly by up to 1 %, so that four fifths lie within 0.8 %: read as a normal distribution's, 0.0062.
  ASSERT_TRUE(figures.jitter);
  EXPECT_NEAR(*figures.jitter, 0.016 / 2.5631, 0.001);
  EXPECT_NEAR(*figures.to_device / fake::Bench::kHostRate, 1, 0.01);
  EXPECT_NEAR(*figures.copy_beside_matmul, 1.25, 0.0125);
  const spec::Calibration found = fitted(points).calibrations[0];
  EXPECT_EQ(found.compute_slowdown, *figures.compute_slowdown);
  EXPECT_EQ(found.power.sustained, *figures.sustained);
  EXPECT_EQ(found.power.jitter, *figures.jitter);
  EXPECT_EQ(found.power.power, base::Watts(700));
  EXPECT_THAT(found.interference_source, HasSubstr("forerun on NVIDIA H200"));
}

TEST(CalibrationRecovery, CollectivesDrawTheCurvesOfTheLinks) {
  spec::Cluster truth;
  truth.node = fake::node();
  for (spec::PathCurve* curve : {&truth.node.links.all_gather, &truth.node.links.all_to_all}) {
    curve->efficiency *= 0.8;
    curve->latency = curve->latency * 1.5;
  }
  real::Machine machine = fake::machine();
  machine.gpus = 8;
  const fake::Folder folder;
  const std::string path = (folder.path / "points").string();
  fake::Bench bench(fake::device());
  bench.cluster = truth;
  real::PointsFile file = real::PointsFile::begin(path, machine);
  real::run(bench, real::points({}, {.fp8 = false, .gpus = 8}), file, base::s(180));

  const config::KernelTables tables = real::tables_of(real::read_points(path), truth.node.gpu);
  config::Place here;
  here.cluster.node = fake::node();  // the catalogue's links
  result::KernelCalibration report;
  spec::Cluster found = here.cluster;
  found.node.links = sim::calibrate_networks(tables, {here}, {{here.cluster.node.links, true}}, report).front();
  for (const auto kind : {plan::CollectiveKind::all_gather, plan::CollectiveKind::all_to_all}) {
    for (std::int64_t bytes = 1 << 12; bytes <= 1 << 28; bytes *= 16) {
      const plan::Collective work{kind, bytes, sim::group_of_nodes(truth, 8)};
      // Times scatter by 1 %; a curve is drawn to all sizes and groups at once.
      EXPECT_NEAR(sim::price(work, found).time / sim::price(work, truth).time, 1, 0.08) << bytes;
    }
  }
  EXPECT_THAT(found.node.links.all_gather.source, HasSubstr("forerun on NVIDIA H200"));
}

TEST(CalibrationRecovery, CollectivesOfSeveralNodesDrawTheCurvesOfTheFabric) {
  spec::Cluster truth;
  truth.node = fake::node();
  truth.fabric = fake::fabric();
  for (spec::PathCurve* curve : {&truth.fabric.calibration.all_gather, &truth.fabric.calibration.send}) {
    curve->efficiency *= 0.7;
    curve->latency = curve->latency * 2;
  }
  real::Machine machine = fake::machine();
  machine.gpus = 8;
  machine.nodes = 4;
  const fake::Folder folder;
  const std::string path = (folder.path / "points").string();
  fake::Bench bench(fake::device());
  bench.cluster = truth;
  real::PointsFile file = real::PointsFile::begin(path, machine);
  const real::Progress done =
      real::run(bench, real::collective_points({.fp8 = false, .gpus = 8, .nodes = 4}), file, base::s(600));
  EXPECT_EQ(done.left, 0);
  EXPECT_EQ(done.voided, 0);

  const config::KernelTables tables = real::tables_of(real::read_points(path), truth.node.gpu);
  config::Place here;
  here.cluster.node = fake::node();
  here.cluster.fabric = fake::fabric();  // the catalogue's
  result::KernelCalibration report;
  spec::Cluster found = here.cluster;
  const auto drawn = sim::calibrate_networks(
      tables, {here}, {{here.cluster.node.links, true}, {here.cluster.fabric.calibration, true}}, report);
  found.fabric.calibration = drawn.back();
  for (const int nodes : {2, 4}) {
    truth.nodes = found.nodes = nodes;
    for (std::int64_t bytes = 1 << 14; bytes <= 1 << 28; bytes *= 16) {
      const plan::Collective gather{plan::CollectiveKind::all_gather, bytes, sim::group_of_nodes(truth, 8)};
      EXPECT_NEAR(sim::price(gather, found).time / sim::price(gather, truth).time, 1, 0.08) << nodes << ' ' << bytes;
    }
  }
  truth.nodes = found.nodes = 2;
  const plan::Collective send{plan::CollectiveKind::shift, 1 << 26, sim::group_of_nodes(truth, 1)};
  EXPECT_NEAR(sim::price(send, found).time / sim::price(send, truth).time, 1, 0.05);
  EXPECT_THAT(found.fabric.calibration.all_gather.source, HasSubstr("forerun on NVIDIA H200"));
}

TEST(CalibrationRecovery, WhatNoPointTellsKeepsItsSource) {
  const spec::Calibration before = fake::node().calibration, found = fitted(timed(fake::device())).calibrations[0];
  const auto fp8 = static_cast<std::size_t>(spec::Dtype::fp8);
  EXPECT_EQ(found.matmul[fp8].from.source, before.matmul[fp8].from.source);
  EXPECT_EQ(found.matmul[fp8].ceiling, before.matmul[fp8].ceiling);
  // No point at all: nothing changes, and the file is the shelf's under another name.
  const spec::Calibration none = fitted({.machine = fake::machine()}).calibrations[0];
  EXPECT_EQ(none.compute_slowdown, before.compute_slowdown);
  EXPECT_EQ(none.matmul[kBf16].from.source, before.matmul[kBf16].from.source);
}

TEST(CalibrationRecovery, TheFileIsReadBackAsItIs) {
  const spec::Calibration found = fitted(timed(fake::device())).calibrations[0];
  const std::string text = config::calibration_yaml(found, "H200");
  config::Faults faults;
  const spec::Calibration read = config::read_calibration(config::parse(text, "mine.yaml"), "mine", faults);
  EXPECT_TRUE(faults.empty()) << base::to_string(faults.front());
  EXPECT_EQ(config::calibration_yaml(read, "H200"), text);
}

TEST(CalibrationRecovery, WhatNoGpuCanDoIsLeftOut) {
  real::Points points{.machine = fake::machine()};
  const auto add = [&](const real::Shape& shape, double us) {
    points.points.push_back({.shape = shape, .median = base::us(us), .low = base::us(us), .high = base::us(us)});
  };
  // 2 x 8192^3 FLOP at 989.4 TFLOP/s take 1,111 us; a tenth above the peak is the limit: 1,010 us.
  add(real::kReferenceMatmul, 1009);
  add(real::kReferenceMatmul, 1012);
  // 4 bytes a number: 1 GiB at 4.8 TB/s takes 223.7 us, 5 % less 213.0.
  const real::MemoryOperator copy{real::MemoryOperator::What::copy, 65536, 4096};
  add(copy, 212);
  add(copy, 214);
  points.points.push_back({.shape = copy, .void_because = "out of memory"});
  const config::KernelTables tables = real::tables_of(points, fake::node().gpu);
  EXPECT_EQ(tables.rows.size(), 2u);
  EXPECT_EQ(tables.left_out.at("matmuls faster than the data sheet allows: wrong"), 1);
  EXPECT_EQ(tables.left_out.at("memory-bound operators faster than the data sheet allows: wrong"), 1);
  EXPECT_EQ(tables.left_out.at("void points: out of memory"), 1);
}

TEST(CalibrationMachine, ACardIsFoundByItsNameAndSize) {
  const config::Catalogue catalogue(FORERUN_SOURCE_DIR);
  real::Machine machine = fake::machine();
  const std::vector<std::string> like = real::nodes_like(machine, catalogue);
  EXPECT_THAT(like, ::testing::IsSupersetOf({"dgx-h200", "a3-ultra", "p5en"}));
  EXPECT_EQ(like.front(), "dgx-h200");  // the others are told by what they have besides it
  EXPECT_EQ(real::why_not(fake::node().gpu, machine), "");
  machine.sms = 114;  // no H200 has so few
  EXPECT_TRUE(real::nodes_like(machine, catalogue).empty());
  EXPECT_EQ(real::why_not(fake::node().gpu, machine), "h200-sxm has 132 SMs, this GPU 114");
  machine = fake::machine();
  machine.memory = base::GiB(80);
  EXPECT_THAT(real::why_not(fake::node().gpu, machine), HasSubstr("of memory, this GPU"));
  const auto nodes_of = [&](const char* gpu) {
    real::Machine other = fake::machine();
    other.gpu = gpu;
    return real::nodes_like(other, catalogue);
  };
  EXPECT_EQ(nodes_of("NVIDIA H200 NVL"), std::vector<std::string>{"h200-nvl-x8"});  // the same chip and memory
  EXPECT_TRUE(nodes_of("NVIDIA H200 PCIe").empty());
  machine = fake::machine();
  machine.gpu = "NVIDIA B200";
  EXPECT_EQ(real::why_not(fake::node().gpu, machine), "this GPU calls itself NVIDIA B200");
}

}  // namespace
