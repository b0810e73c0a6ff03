// tests/cli/recorded_on_gpus_test.cpp -- what was recorded on GPUs (validation/measured), held against predictions with
// the calibration of the same card. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cctype>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/run_forerun.h"

namespace {

using testing_support::Answer;
using testing_support::forerun;
using Json = nlohmann::json;

constexpr const char* kRun = "dgx-h200-2026-11-26";

std::string measured(const std::string& name) {
  return std::string(FORERUN_SOURCE_DIR) + "/validation/measured/" + kRun + '/' + name;
}

/// "llama3-8b, 4 layers" is recorded in llama3-8b-4-layers.json.gz.
std::string file_of(const std::string& slice) {
  std::string out;
  for (const char c : slice) {
    if (std::isalnum(static_cast<unsigned char>(c))) {
      out += c;
    } else if (out.back() != '-') {
      out += '-';
    }
  }
  return measured(out + ".json.gz");
}

Json explained(const std::string& arguments) {
  const Answer answer = forerun("explain " + arguments + " --json -");
  EXPECT_EQ(answer.exit_code, 0) << answer.err;
  return Json::parse(answer.out);
}

/// log(predicted / measured step) of each slice.
std::vector<double> errors(const std::string& calibration) {
  std::ifstream in(measured("slices.json"));
  const Json all = Json::parse(in);
  std::vector<double> out;
  for (const auto& [name, slice] : all.at("slices").items()) {
    std::string words = all.at("job").get<std::string>();
    for (const Json& setting : slice.at("settings")) words += " --set '" + setting.get<std::string>() + "'";
    const Json told = explained(words + calibration + " --against " + file_of(name));
    out.push_back(std::log(told.at("predicted_ps").get<double>() / told.at("measured_ps").get<double>()));
    for (const Json& part : told.at("parts")) EXPECT_NE(part.at("kind"), "only_measured") << name << ' ' << part;
  }
  return out;
}

double mean_size(const std::vector<double>& errors) {
  double sum = 0;
  for (const double e : errors) sum += std::abs(e);
  return sum / static_cast<double>(errors.size());
}

TEST(RecordedOnGpus, SlicesArePredictedByTheCardsOwnCalibration) {
  const std::vector<double> own =
      errors(std::string(" --calibration ") + FORERUN_SOURCE_DIR + "/topologies/calibrations/" + kRun + ".yaml");
  ASSERT_EQ(own.size(), 11u);
  for (const double e : own) EXPECT_LT(std::abs(e), 0.09);  // 0.004 to 0.08 on 26 November 2026
  EXPECT_LT(mean_size(own), 0.035);                         // 0.031
}

TEST(RecordedOnGpus, ThePublishedCurvesPredictThemNearlyAsWell) {
  // The card was cool and alone: its clocks fell less than those of cards in a full rack.
  EXPECT_LT(mean_size(errors("")), 0.065);  // 0.055
}

TEST(RecordedOnGpus, AStepOfPyTorchAlignsByTheNamesOfItsKernels) {
  const testing_support::ScratchFolder folder;
  const std::string step = folder / "step.json";
  ASSERT_EQ(forerun("import kineto " + measured("torch/eager-flash.json.gz") + " -o " + step).exit_code, 0);
  const Json told = explained(
      "llama3-8b-32xh200 --set cluster.node=dgx-h200 --set cluster.nodes=1 --set cluster.node.gpus=1 --set "
      "'strategy={framework: torch}' --set model.layers=4 --set training.sequence=8192 --set training.global_batch=1 "
      "--against " +
      step);
  double other = 0, all = 0, flash = 0, flash_predicted = 0;
  for (const Json& family : told.at("families")) {
    const double busy = family.at("measured").at("busy_ps").get<double>();
    const auto name = family.at("family").get<std::string>();
    all += busy;
    if (name == "other") other += busy;
    if (name.starts_with("attention")) {
      flash += busy;
      flash_predicted += family.at("predicted").at("busy_ps").get<double>();
    }
  }
  EXPECT_LT(other / all, 0.01);                   // kernels whose names tell no family
  EXPECT_NEAR(flash_predicted / flash, 1, 0.05);  // FlashAttention-2 of PyTorch 2.11, by published curves
}

}  // namespace
