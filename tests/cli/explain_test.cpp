// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/run_forerun.h"

namespace {

using nlohmann::json;
using testing_support::Answer;
using testing_support::contains;
using testing_support::forerun;

const std::string kFlags = " --model llama3-8b --node dgx-h100 --sequence 4096 --global-batch 16 --tp 4 --zero 1 ";

TEST(ExplainCommand, TellsTheStepThatPredictTells) {
  const Answer run = forerun("explain" + kFlags + "--json -");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const json answer = json::parse(run.out);
  // But for picoseconds: predict runs kernels without a gap as one.
  const double step = json::parse(forerun("predict" + kFlags + "--json -").out)["step_time_s"];
  EXPECT_NEAR(answer["step_time_s"].get<double>(), step, 1e-9);
  double sum = 0;
  for (const json& category : answer["categories"]) sum += category["time_s"].get<double>();
  EXPECT_NEAR(sum, answer["step_time_s"].get<double>(), 1e-12);
}

TEST(ExplainCommand, PrintsThePathAndWhatWouldHelp) {
  const Answer run = forerun("explain" + kFlags);
  EXPECT_TRUE(contains(run.out, "critical path")) << run.out;
  EXPECT_TRUE(contains(run.out, "If it were free")) << run.out;
  EXPECT_EQ(run.err, "");
}

TEST(ExplainCommand, AStepThatDoesNotFitIsExplainedWithExitOne) {
  const Answer run = forerun("explain --model llama3-70b --node dgx-h100 --sequence 4096 --global-batch 8 --tp 8");
  EXPECT_EQ(run.exit_code, 1) << run.err;
  EXPECT_TRUE(contains(run.out, "does not fit")) << run.out;
}

TEST(ExplainCommand, SensitivityTellsTheSameStepAndAddsUp) {
  const Answer run = forerun("explain" + kFlags + "--sensitivity --json -");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const json answer = json::parse(run.out);
  const double step = json::parse(forerun("predict" + kFlags + "--json -").out)["step_time_s"];
  EXPECT_NEAR(answer["step_time_s"].get<double>(), step, 1e-9);
  double sum = 0;  // Euler: latencies less rates (docs/explain.md)
  for (const json& one : answer["sensitivity"]) {
    const std::string unit = one["unit"];
    const double elasticity = one["elasticity"];
    if (unit == "s") sum += elasticity;
    if (unit == "B/s" || unit == "FLOP/s" || unit == "W") sum -= elasticity;
  }
  EXPECT_NEAR(sum, 1, 0.01);
}

TEST(ExplainCommand, SensitivityWritesATable) {
  const Answer run = forerun("explain" + kFlags + "--sensitivity --csv -");
  EXPECT_EQ(run.out.substr(0, 17), "input,value,unit,") << run.out;
  EXPECT_TRUE(contains(run.out, "\"gpu.peak.bf16\",989400000000000,FLOP/s,")) << run.out;
}

TEST(ExplainCommand, WhatIfIsThePredictionOfTheChangedNode) {
  // The same as a node with that HBM, given in the Job.
  const Answer run = forerun("explain" + kFlags + "--what-if hbm=4TB/s,nvlink=2x --json -");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const json after = json::parse(run.out)["after"];
  ASSERT_EQ(after.size(), 3u);
  const std::string by_hand = " --set 'cluster.node={base: dgx-h100, gpu: {base: h100-sxm, hbm: 4TB/s}}' ";
  const json step = json::parse(forerun("predict" + kFlags + by_hand + "--json -").out);
  EXPECT_DOUBLE_EQ(after[0]["step_time_s"].get<double>(), step["step_time_s"].get<double>());
  EXPECT_LT(after[2]["step_time_s"], after[0]["step_time_s"]);
}

TEST(ExplainCommand, WhatIfExitsByTheStepAfterAllChanges) {
  EXPECT_EQ(forerun("explain" + kFlags + "--what-if gpu.memory=1GB").exit_code, 1);
}

TEST(ExplainCommand, AnswersTheChangesThatCanBeAndNamesTheOthers) {
  const Answer run = forerun("explain" + kFlags + "--what-if nicc=2x,nvlink=2x --what-if hbm=4TB/s --json -");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_TRUE(contains(run.err, "--what-if nicc=2x: is no input of this job")) << run.err;
  const json answer = json::parse(run.out);
  const json alone = json::parse(forerun("explain" + kFlags + "--what-if nvlink=2x,hbm=4TB/s --json -").out);
  EXPECT_EQ(answer["after"], alone["after"]);
  ASSERT_EQ(answer["refused"].size(), 1u);
  EXPECT_EQ(answer["refused"][0]["change"], "nicc=2x");
}

TEST(ExplainCommand, RefusesUnknownInputsAndOptionsThatExcludeOneAnother) {
  const Answer unknown = forerun("explain" + kFlags + "--what-if nicc=2x");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_TRUE(contains(unknown.err, "did you mean nic?")) << unknown.err;
  EXPECT_EQ(forerun("explain" + kFlags + "--what-if nic=2x --sensitivity").exit_code, 2);
  EXPECT_EQ(forerun("explain" + kFlags + "--csv -").exit_code, 2);
}

TEST(ExplainCommand, WrongInputIsTold) {
  EXPECT_EQ(forerun("explain --tp 4").exit_code, 2);
  EXPECT_EQ(forerun("explain" + kFlags + "--nonsense").exit_code, 2);
}

}  // namespace
