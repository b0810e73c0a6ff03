// tests/sim/cost/calibrations_test.cpp -- every calibration of the catalogue is whole, and gives sane prices.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>

#include "core/config/calibration_reader.h"
#include "core/config/catalogue.h"
#include "core/config/document.h"
#include "sim/cost/curves.h"
#include "sim/cost/price.h"
#include "tests/sim/cost/toy_device.h"

namespace {

spec::Calibration load(const std::filesystem::path& file) {
  config::Faults faults;
  spec::Calibration result = config::read_calibration(config::load(file.string()), file.stem().string(), faults);
  for (const base::Fault& fault : faults) ADD_FAILURE() << base::to_string(fault);
  return result;
}
std::filesystem::path folder() { return std::filesystem::path(FORERUN_SOURCE_DIR) / "topologies/calibrations"; }

TEST(Calibrations, EachIsReadWithoutFaultAndSaysWhereEveryCurveComesFrom) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder())) {
    if (entry.path().extension() != ".yaml") continue;
    SCOPED_TRACE(entry.path().string());
    const spec::Calibration c = load(entry.path());
    ++files;
    for (const auto dtype : {spec::Dtype::fp32, spec::Dtype::tf32, spec::Dtype::fp16, spec::Dtype::bf16}) {
      const spec::Provenance& from = sim::matmul_curve(c, dtype).from;
      EXPECT_NE(from.source.find_first_not_of(' '), std::string::npos);
      EXPECT_EQ(from.measured, from.rows > 0);
    }
    for (const auto kernel : {spec::AttentionKernel::flash1, spec::AttentionKernel::flash2,
                              spec::AttentionKernel::flash3, spec::AttentionKernel::cudnn}) {
      EXPECT_GT(c.attention[static_cast<std::size_t>(kernel)].forward, 0);
    }
    for (int kind = 0; kind < spec::kMemoryKinds; ++kind) {
      const bool has_another = kind == static_cast<int>(plan::MemoryBound::Kind::eager_norm);  // of fused norms
      if (!has_another) {
        EXPECT_GT(c.memory[kind].efficiency, 0) << spec::kMemoryKindNames[kind];
      }
      EXPECT_GT(sim::memory_curve(c, static_cast<plan::MemoryBound::Kind>(kind)).efficiency, 0);
    }
    EXPECT_GT(c.power.power.si(), 0);
  }
  EXPECT_GE(files, 19);
}
TEST(Calibrations, TheH100CurveGivesTheSweepsOwnMatmul) {
  // aiconfigurator, H100 SXM, bf16, 8192 x 8192 x 8192: 782.7 TFLOP/s in a short run, within the residual.
  sim::Device d;
  d.calibration = load(folder() / "h100-sxm.yaml");
  d.calibration.power.sustained = 1;
  d.calibration.power.power = {};
  d.gpu.sms = 132;
  d.gpu.hbm = base::GBps(3350);
  d.gpu.peak.fill(base::TFLOPps(989.4));
  const double seconds = sim::price(plan::Matmul{.m = 8192, .n = 8192, .k = 8192}, d).time.si();
  EXPECT_NEAR(2 * std::pow(8192.0, 3) / seconds / 782.7e12, 1, 0.07);
}
TEST(Calibrations, BlackwellsPowerStatesLieOnOneLaw) {
  // 0.833 at 1,200 W; (1000 / 1200)^0.25 = 0.955, (1100 / 1200)^0.25 = 0.978, (1400 / 1200)^0.25 = 1.039. Three digits.
  for (const char* file : {"b200.yaml", "b300.yaml", "gb200.yaml", "gb300.yaml"}) {
    const spec::PowerState power = load(folder() / file).power;
    EXPECT_NEAR(power.sustained, 0.833 * std::pow(power.power.si() / 1200, power.exponent), 6e-4) << file;
  }
}
TEST(Calibrations, TorchGroupedMmOnB200TakesWhatPytorchAoMeasured) {
  // Forward and both gradients, bf16, m rows in so many groups (pytorch/ao pull request 3174, October 2025). Eight more
  // rows of its README make the mean of the pace; a row is within a quarter, all within a twentieth.
  struct Row {
    std::int64_t n, k, groups;
    double us;
  };
  constexpr std::int64_t kRows = 128'000;
  const std::array<Row, 12> measured{{{8192, 5120, 1, 40463},
                                      {8192, 5120, 2, 35494.5},
                                      {8192, 5120, 4, 38879.3},
                                      {8192, 5120, 8, 35714.6},
                                      {1536, 5120, 1, 6353.06},
                                      {1536, 5120, 2, 6511.65},
                                      {1536, 5120, 4, 6455.2},
                                      {1536, 5120, 8, 7716.13},
                                      {2048, 7168, 1, 11758},
                                      {2048, 7168, 2, 15012.9},
                                      {2048, 7168, 4, 14904.2},
                                      {2048, 7168, 8, 13178}}};
  config::Faults faults;
  const config::Catalogue catalogue(FORERUN_SOURCE_DIR);
  const spec::Node node = catalogue.node(config::parse("dgx-b200", "node"), "node", faults);
  sim::Device d{node.gpu, node.calibration};
  d.calibration.grouped_mm = true;
  double sum = 0;
  for (const Row& row : measured) {
    const auto pass = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
      plan::Matmul w{.m = m, .n = n, .k = k, .batch = row.groups};
      w.grouped = true;
      return sim::price(w, d).time.si() * 1e6;
    };
    const std::int64_t m = kRows / row.groups;
    const double us = pass(m, row.n, row.k) + pass(m, row.k, row.n) + pass(row.n, row.k, m);
    EXPECT_NEAR(std::log(us / row.us), 0, 0.25) << row.n << ' ' << row.groups;
    sum += std::log(us / row.us);
  }
  EXPECT_NEAR(sum / measured.size(), 0, 0.05);
}
TEST(Calibrations, AnH100At500WIsSlowerThanAt700WByTheLaw) {
  sim::Device d = toy_device();
  d.calibration = load(folder() / "h100-sxm.yaml");
  d.gpu.power = base::Watts(700);
  const auto full = sim::price(plan::Matmul{.m = 8192, .n = 8192, .k = 8192}, d).time;
  d.gpu.power = base::Watts(500);
  EXPECT_GT(sim::price(plan::Matmul{.m = 8192, .n = 8192, .k = 8192}, d).time / full, 1.05);
}

}  // namespace
