// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/run_forerun.h"

namespace {

using nlohmann::json;
using testing_support::Answer;
using testing_support::contains;
using testing_support::forerun;

const std::string kSmall =
    " --model llama3-8b --node dgx-h100 --nodes 2 --sequence 4096 --global-batch 64 --zero 1 --tp 4 --sp ";

TEST(ScaleCommand, APointIsThePredictionOfTheJobOnItsGpus) {
  const json answer = json::parse(forerun("scale" + kSmall + "--gpus 4..32 --json -").out);
  ASSERT_EQ(answer["curves"].size(), 2u);
  const json strong = answer["curves"][0], weak = answer["curves"][1];
  EXPECT_EQ(strong["kind"], "strong");
  const auto predicted = [](const std::string& nodes, const std::string& more) {
    return json::parse(
        forerun("predict --model llama3-8b --node dgx-h100 --sequence 4096 --zero 1 --tp 4 --sp --nodes " + nodes +
                " --json - " + more)
            .out)["step_time_s"];
  };
  // 4, 8, 16 and 32 GPUs; the weak batch is 64 on the job's own 16.
  EXPECT_EQ(strong["points"][0]["step_time_s"], predicted("1", "--gpus-per-node 4 --global-batch 64"));
  EXPECT_EQ(strong["points"][3]["step_time_s"], predicted("4", "--global-batch 64"));
  EXPECT_EQ(weak["points"][1]["global_batch"], 32);
  EXPECT_EQ(weak["points"][3]["step_time_s"], predicted("4", "--global-batch 128"));
}

TEST(ScaleCommand, WhatCannotBeIsARowWithItsReason) {
  const Answer run = forerun("scale" + kSmall + "--gpus 2,8,12 --kind weak");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(contains(run.out, "12  refused: 12 GPUs are no whole number of nodes of 8")) << run.out;
  EXPECT_TRUE(contains(run.out, "2  refused: strategy.tp: ")) << run.out;
}

TEST(ScaleCommand, AJobThatSaysNoNodesStandsOnTheFewestGpusOfItsCut) {
  // tp 8 and pp 2 are two nodes: 8 GPUs are refused, and the weak batch of 64 is that of 16.
  const std::string flags =
      "scale --model llama3-8b --node dgx-h100 --sequence 4096 --global-batch 64 --zero 1 --tp 8 --pp 2 ";
  const json answer = json::parse(forerun(flags + "--gpus 8,16,32 --json -").out);
  const json weak = answer["curves"][1]["points"];
  EXPECT_NE(weak[0]["refusal"].get<std::string>().find("strategy.tp"), std::string::npos);
  EXPECT_EQ(weak[1]["global_batch"], 64);
  EXPECT_EQ(weak[2]["global_batch"], 128);
}

TEST(ScaleCommand, ASearchIsNeverWorseThanTheJobItself) {
  const std::string common = "scale" + kSmall + "--gpus 16 --kind strong --json - ";
  const auto time = [](const Answer& run) -> double {
    return json::parse(run.out)["curves"][0]["points"][0]["step_time_s"];
  };
  EXPECT_LE(time(forerun(common + "--search --free tp,sp --allow tp=1,2,4,8")), time(forerun(common)));
}

TEST(ScaleCommand, WhatTheFrameworkCannotSayIsTold) {
  const json answer = json::parse(
      forerun("scale" + kSmall +
              "--gpus 8 --kind strong --search --free tp,sp --fix tp=2 --fix pp=2 --fix cp=1 "
              "--fix schedule=zb-h1 --fix recompute=none --fix attention_kernel=cudnn --fix micro_batch=1 --json -")
          .out);
  EXPECT_TRUE(contains(answer["curves"][0]["points"][0]["warnings"].dump(), "Megatron-LM cannot say 'zb-h1'"));
  EXPECT_TRUE(contains(answer["notes"].dump(),
                       "megatron cannot say the best strategy of 8 GPUs in strong scaling (schedule zb-h1): "
                       "--launchable keeps to what it can"))
      << answer["notes"];
}

TEST(ScaleCommand, WhatOnlyASearchReadsIsAFaultWithoutOne) {
  EXPECT_EQ(forerun("scale llama3-8b-32xh200 --gpus 64 --free tp").err,
            "error: --free: says what a search chooses, and there is none\n  mend: add --search, or leave it out\n");
  EXPECT_EQ(forerun("scale llama3-8b-32xh200 --gpus 64 --fix tp=1 --allow zero=1").exit_code, 2);
}

TEST(ScaleCommand, MessagesMend) {
  EXPECT_EQ(forerun("scale" + kSmall).err, "error: --gpus: is missing\n  mend: write --gpus 8..16384\n");
  EXPECT_EQ(forerun("scale" + kSmall + "--gpus 16..8").err,
            "error: --gpus: '16..8' ends before it begins\n  mend: write 8..16384 to double from 8, or 8,16,24\n");
  EXPECT_EQ(forerun("scale" + kSmall + "--gpus 8,x").err,
            "error: --gpus: 'x' is no number of GPUs from 1 to 1048576\n  mend: write 8..16384 to double from 8, or "
            "8,16,24\n");
  EXPECT_EQ(forerun("scale" + kSmall + "--gpus 8 --kind wide").err,
            "error: --kind: there is no kind 'wide'\n  mend: write strong, weak, or leave it out for both\n");
}

TEST(ScaleCommand, ANetworkOfImagesHasSamples) {
  const Answer run = forerun("scale resnet50-8xa100 --gpus 4,8 --kind weak");
  EXPECT_TRUE(contains(run.out, " samples/s ")) << run.out << run.err;
  EXPECT_TRUE(contains(run.out, "Efficiency: samples a second and GPU")) << run.out;
}

TEST(FitCommand, TheReachedValueFitsAndTheNextOneDoesNot) {
  const std::string job =
      " --model llama3-8b --node dgx-h100 --sequence 4096 --global-batch 8 --micro-batch 1 --zero 1 ";
  const json answer = json::parse(forerun("fit" + job + "--json -").out);
  ASSERT_EQ(answer["limits"].size(), 4u);
  for (const json& limit : answer["limits"]) {
    ASSERT_FALSE(limit["reached"].is_null()) << limit;
    std::string flags;
    for (const auto& [path, value] : limit["settings"].items())
      flags += "--set " + path + "=" + value.get<std::string>() + " ";
    const json step = json::parse(forerun("predict" + job + flags + "--json -").out);
    EXPECT_TRUE(step["fits"]) << flags;
    EXPECT_EQ(step["memory"]["peak_bytes"], limit["peak_bytes"]);
    EXPECT_GT(limit["next_peak_bytes"], limit["capacity_bytes"]);
    EXPECT_EQ(limit["tight"], limit["peak_bytes"].get<double>() > 0.95 * limit["capacity_bytes"].get<double>());
  }
}

TEST(FitCommand, WarnsLikePredictOfASequenceBeyondTheModelsPositions) {
  const std::string job = " --model llama3-8b --node dgx-h100 --global-batch 8 --zero 3 ";
  const json limit = json::parse(forerun("fit" + job + "--sequence 4096 --size sequence --json -").out)["limits"][0];
  const auto reached = limit["reached"].get<std::int64_t>();
  ASSERT_GT(reached, 8192);
  const json step = json::parse(forerun("predict" + job + "--sequence " + std::to_string(reached) + " --json -").out);
  ASSERT_EQ(limit["warnings"].size(), 1u);
  EXPECT_NE(std::ranges::find(step["warnings"], limit["warnings"][0]), step["warnings"].end()) << step["warnings"];
}

TEST(FitCommand, OneSizeAloneAndMessages) {
  const std::string job = "fit --model llama3-8b --node dgx-h100 --sequence 4096 --global-batch 8 --zero 1 ";
  EXPECT_EQ(json::parse(forerun(job + "--size layers --json -").out)["limits"].size(), 1u);
  EXPECT_EQ(forerun(job + "--size layer").err,
            "error: --size: this job has no size 'layer' to grow\n  mend: did you mean layers?\n");
}

}  // namespace
