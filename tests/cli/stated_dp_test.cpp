// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/cli/run_forerun.h"

namespace {

using testing_support::Answer;
using testing_support::contains;
using testing_support::forerun;
using testing_support::ScratchFolder;

// The file says tp 4, pp 4 and dp 4 on 8 nodes of 8 GPUs.
const std::string kJob = " llama3-70b-64xh100 ";

TEST(StatedDp, OfAFileFollowsDegreesAndGpusOfTheCommandLine) {
  const std::pair<const char*, const char*> asked[]{
      {"--tp 8", "dp 2"},                         // 64 / (8 x 4)
      {"--set strategy.pp=2", "dp 8"},            // 64 / (4 x 2)
      {"--nodes 4", "dp 2"},                      // 32 / (4 x 4)
      {"--gpus-per-node 4 --nodes 12", "dp 3"}};  // 48 / 16; 128 sequences do not divide by it
  for (const auto& [flags, dp] : asked) {
    const Answer run = forerun("predict" + kJob + flags);
    EXPECT_TRUE(contains(run.out + run.err, dp)) << flags << run.out << run.err;
    EXPECT_FALSE(contains(run.err, "strategy.dp")) << run.err;
  }
}

TEST(StatedDp, FollowsInEverySubcommandThatTakesAJob) {
  for (const char* subcommand : {"fit --size layers", "show schedule", "search --fix pp=2 --fix cp=1 --top 1"}) {
    const Answer run = forerun(subcommand + kJob + "--tp 8");
    EXPECT_NE(run.exit_code, 2) << subcommand << run.err;
    EXPECT_TRUE(contains(run.out, contains(subcommand, "search") ? "dp 4" : "dp 2")) << run.out;
  }
}

TEST(StatedDp, OfTheCommandLineStays) {
  for (const char* flags : {"--tp 8 --dp 4", "--tp 8 --set strategy.dp=4"}) {
    const Answer run = forerun("predict" + kJob + flags);
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_TRUE(contains(run.err, "tp 8 x cp 1 x pp 4 x dp 4 = 128 ranks")) << run.err;
  }
  EXPECT_EQ(forerun("search" + kJob + "--fix tp=8 --fix dp=4").exit_code, 2);
}

TEST(StatedDp, IsCheckedAgainstItsOwnFile) {
  const ScratchFolder folder;
  const auto job = [&](const std::string& dp) {
    std::ofstream(folder / "job.yaml") << "model: llama3-8b\ncluster: {node: dgx-h100}\n"
                                          "training: {sequence: 4096, global_batch: 16}\n"
                                          "strategy: {tp: 2, dp: "
                                       << dp << "}\n";
    return (folder / "job.yaml") + ' ';
  };
  // Nothing else is asked for: 2 x 2 are not the 8 GPUs that there are.
  EXPECT_TRUE(contains(forerun("predict " + job("2")).err, "strategy.dp: tp 2 x cp 1 x pp 1 x dp 2 = 4 ranks"));
  EXPECT_TRUE(contains(forerun("predict " + job("2") + "--micro-batch 2").err, "strategy.dp"));
  EXPECT_TRUE(contains(forerun("predict " + job("four") + "--tp 4").err, "strategy.dp: 'four'"));
}

}  // namespace
