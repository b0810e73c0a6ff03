// SPDX-License-Identifier: Apache-2.0
#include "core/config/calibration_writer.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/config/calibration_reader.h"
#include "core/config/document.h"

namespace {

spec::Calibration read(const config::Value& tree, const std::string& name) {
  config::Faults faults;
  spec::Calibration result = config::read_calibration(tree, name, faults);
  for (const base::Fault& fault : faults) ADD_FAILURE() << base::to_string(fault);
  return result;
}

TEST(CalibrationWriter, EveryFileOfTheCatalogueIsAsItWouldBeWritten) {
  const std::filesystem::path folder = std::filesystem::path(FORERUN_SOURCE_DIR) / "topologies/calibrations";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".yaml") continue;
    SCOPED_TRACE(entry.path().string());
    std::ifstream in(entry.path());
    std::string text, comment;
    for (std::string line; std::getline(in, line);) {
      text += line + '\n';
      if (line.starts_with("# ")) comment += line.substr(2) + '\n';
    }
    EXPECT_EQ(config::calibration_yaml(read(config::load(entry.path()), entry.path().stem()), comment), text);
  }
}

TEST(CalibrationWriter, WhatIsWrittenIsReadAgain) {
  spec::Calibration written;
  written.name = "mine";
  written.gpu = "h100-sxm";
  written.measured_as = {"H100 80GB", "H100, \"the\" big one"};
  written.matmul[static_cast<int>(spec::Dtype::bf16)] = {.ceiling = 0.8125,
                                                         .tile_m = 128,
                                                         .tile_n = 256,
                                                         .half_tile = 0.75,
                                                         .quarter_tile = 0.5,
                                                         .k_half = 100.5,
                                                         .wave_share = 0.25,
                                                         .memory = 0.625,
                                                         .overhead = base::us(2.5),
                                                         .from = {true, "rows", 7, 0.0625}};
  spec::MatmulCurve& curve = written.matmul[static_cast<int>(spec::Dtype::bf16)];
  curve.grouped.pace = 0.875;
  curve.grouped.each = base::us(3.5);
  curve.grouped.from = {false, "guess", 0, 0.25};
  curve.grouped_mm.pace = 0.6875;
  curve.grouped_mm.each = base::us(0.5);
  curve.grouped_mm.from = {true, "one kernel", 20, 0.125};
  curve.gradients.pace = 0.9375;
  curve.gradients.from = {true, "more rows", 9, 0.1};
  written.memory[0] = {0.75, base::us(4), {true, "rows", 3, 0.02}};
  written.accumulation = 0.5;
  written.accumulation_source = "two kernels";
  written.sources = {"a", "b"};
  const spec::Calibration again =
      read(config::parse(config::calibration_yaml(written, "two\nlines"), "mine.yaml"), "mine");
  const spec::MatmulCurve& got = again.matmul[static_cast<int>(spec::Dtype::bf16)];
  EXPECT_EQ(again.gpu, written.gpu);
  EXPECT_EQ(again.measured_as, written.measured_as);
  EXPECT_EQ(got.k_half, 100.5);
  EXPECT_DOUBLE_EQ(got.overhead.si(), 2.5e-6);
  EXPECT_EQ(got.grouped.pace, 0.875);
  EXPECT_EQ(got.grouped.from.source, "guess");
  EXPECT_EQ(got.grouped_mm.pace, 0.6875);
  EXPECT_DOUBLE_EQ(got.grouped_mm.each.si(), 0.5e-6);
  EXPECT_EQ(got.grouped_mm.from.rows, 20);
  EXPECT_EQ(got.gradients.from.rows, 9);
  EXPECT_TRUE(got.gradients.from.measured);
  EXPECT_EQ(again.matmul[0].ceiling, 0);
  EXPECT_DOUBLE_EQ(again.memory[0].overhead.si(), 4e-6);
  EXPECT_EQ(again.accumulation_source, "two kernels");
  EXPECT_EQ(again.sources, written.sources);
}

}  // namespace
