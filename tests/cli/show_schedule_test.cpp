// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/run_forerun.h"

namespace {

using nlohmann::json;
using testing_support::Answer;
using testing_support::contains;
using testing_support::forerun;

TEST(ShowSchedule, DrawsALineForEachStage) {
  const Answer run = forerun("show schedule llama3-70b-64xh100");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  for (const char* stage : {"\nstage 0  ", "\nstage 1  ", "\nstage 2  ", "\nstage 3  ·"}) {  // the last one waits
    EXPECT_TRUE(contains(run.out, stage)) << run.out;
  }
  EXPECT_TRUE(contains(run.out, "\nPipeline bubble   ")) << run.out;
}

TEST(ShowSchedule, TakesTheJobsFlags) {
  const Answer run = forerun("show schedule llama3-70b-64xh100 --set strategy.vpp=1 --schedule gpipe --json -");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(json::parse(run.out)["schedule"], "gpipe");
}

TEST(ShowSchedule, DrawsAPartOfTheStep) {
  const Answer run = forerun("show schedule llama3-70b-64xh100 --from 100ms --to 300ms");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(contains(run.out, "\n         100 ms")) << run.out;
  EXPECT_TRUE(contains(run.out, " 300 ms\n")) << run.out;
}

TEST(ShowSchedule, APartThatIsNotOfTheStepIsAFault) {
  for (const char* part : {"--from 300ms --to 100ms", "--from 100s", "--to 100s", "--from 3"}) {
    const Answer run = forerun("show schedule llama3-70b-64xh100 " + std::string(part));
    EXPECT_EQ(run.exit_code, 2) << part;
    EXPECT_EQ(run.out, "") << part;
    EXPECT_TRUE(contains(run.err, "\n  mend: ")) << run.err;
  }
}

TEST(ShowSchedule, OptionsOfOtherFormsAreRefusedByName) {
  EXPECT_TRUE(contains(forerun("show schedule llama3-70b-64xh100 --csv").err, "belongs to `forerun show collective`"));
  EXPECT_TRUE(contains(forerun("show collective all_reduce --node dgx-h100 --tp 2").err,
                       "--tp: belongs to `forerun show schedule`"));
  EXPECT_TRUE(contains(forerun("show dgx-h100 --tp 2").err, "--tp: belongs to `forerun show schedule`"));
}

TEST(ShowSchedule, AJobOfFlagsAloneIsToldTheMissingFlag) {
  EXPECT_TRUE(contains(forerun("show schedule --node dgx-h100").err, "mend: add --model NAME"));
}

}  // namespace
