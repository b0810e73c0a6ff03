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

TEST(ExplainCommand, WrongInputIsTold) {
  EXPECT_EQ(forerun("explain --tp 4").exit_code, 2);
  EXPECT_EQ(forerun("explain" + kFlags + "--nonsense").exit_code, 2);
}

}  // namespace
