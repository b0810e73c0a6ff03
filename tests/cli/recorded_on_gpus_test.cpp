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

constexpr const char* kH200 = "dgx-h200-2026-11-26";
constexpr const char* kH100 = "dgx-h100-2026-11-26";

std::string measured(const std::string& run, const std::string& name) {
  return std::string(FORERUN_SOURCE_DIR) + "/validation/measured/" + run + '/' + name;
}

std::string own_calibration(const std::string& run) {
  return std::string(" --calibration ") + FORERUN_SOURCE_DIR + "/topologies/calibrations/" + run + ".yaml";
}

/// "llama3-8b, 4 layers" is recorded in llama3-8b-4-layers.json.gz.
std::string file_of(const std::string& run, const std::string& slice) {
  std::string out;
  for (const char c : slice) {
    if (std::isalnum(static_cast<unsigned char>(c))) {
      out += c;
    } else if (out.back() != '-') {
      out += '-';
    }
  }
  return measured(run, out + ".json.gz");
}

Json explained(const std::string& arguments) {
  const Answer answer = forerun("explain " + arguments + " --json -");
  EXPECT_EQ(answer.exit_code, 0) << answer.err;
  return Json::parse(answer.out);
}

Json slices(const std::string& run) {
  std::ifstream in(measured(run, "slices.json"));
  return Json::parse(in);
}

std::string job_of(const Json& all, const Json& slice) {
  std::string words = all.at("job").get<std::string>();
  for (const Json& setting : slice.at("settings")) words += " --set '" + setting.get<std::string>() + "'";
  return words;
}

/// log(predicted / measured step) of each slice; the optimizer counted as it took where `but_optimizer`.
std::vector<double> errors(const std::string& run, const std::string& calibration, bool but_optimizer = false) {
  const Json all = slices(run);
  std::vector<double> out;
  for (const auto& [name, slice] : all.at("slices").items()) {
    const std::string words = job_of(all, slice);
    const Json told = explained(words + calibration + " --against " + file_of(run, name));
    double predicted = told.at("predicted_ps").get<double>();
    for (const Json& family : told.at("families")) {
      if (!but_optimizer || family.at("family") != "optimizer") continue;
      predicted +=
          family.at("measured").at("busy_ps").get<double>() - family.at("predicted").at("busy_ps").get<double>();
    }
    out.push_back(std::log(predicted / told.at("measured_ps").get<double>()));
    for (const Json& part : told.at("parts")) EXPECT_NE(part.at("kind"), "only_measured") << name << ' ' << part;
  }
  return out;
}

double mean_size(const std::vector<double>& errors) {
  double sum = 0;
  for (const double e : errors) sum += std::abs(e);
  return sum / static_cast<double>(errors.size());
}

struct Bounds {
  const char* run;
  double each, mean, mean_by_published;
};
class RecordedOnGpus : public testing::TestWithParam<Bounds> {};

TEST_P(RecordedOnGpus, SlicesArePredictedByTheCardsOwnCalibration) {
  const std::vector<double> own = errors(GetParam().run, own_calibration(GetParam().run));
  ASSERT_EQ(own.size(), 11u);
  for (const double e : own) EXPECT_LT(std::abs(e), GetParam().each);
  EXPECT_LT(mean_size(own), GetParam().mean);
}

TEST_P(RecordedOnGpus, PublishedCurvesPredictThemButForTheOptimizer) {
  // Cool and alone for two seconds: clocks fell less than those of cards in a full rack. The published optimizer is
  // PyTorch's, 0.66 and 0.755 of the HBM; one kernel a tensor, which ran here, reaches 0.86 and 0.9.
  EXPECT_LT(mean_size(errors(GetParam().run, "", true)), GetParam().mean_by_published);
}

INSTANTIATE_TEST_SUITE_P(Cards, RecordedOnGpus,
                         testing::Values(Bounds{kH200, 0.09, 0.035, 0.085},  // 0.004 to 0.08, 0.028, 0.076
                                         Bounds{kH100, 0.05, 0.025, 0.04}),  // 0.004 to 0.049, 0.022, 0.032
                         [](const auto& card) { return std::string(card.param.run).substr(4, 4); });

TEST(RecordedOnAnH100, MemoryIsPredictedToAPercent) {
  // Not the H200's steps: executors of before kept what nobody read again until a layer's backward was over.
  const Json all = slices(kH100);
  for (const auto& [name, slice] : all.at("slices").items()) {
    const Answer answer = forerun("predict " + job_of(all, slice) + " --json -");
    ASSERT_EQ(answer.exit_code, 0) << answer.err;
    const auto predicted = Json::parse(answer.out).at("memory").at("allocated_bytes").get<double>();
    EXPECT_NEAR(predicted / slice.at("peak_bytes").get<double>(), 1, 0.01) << name;  // -0.3 to +0.1 %
  }
}

TEST(RecordedByPyTorch, AStepAlignsByTheNamesOfItsKernels) {
  const testing_support::ScratchFolder folder;
  const std::string step = folder / "step.json";
  ASSERT_EQ(forerun("import kineto " + measured(kH200, "torch/eager-flash.json.gz") + " -o " + step).exit_code, 0);
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
