// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/base/text.h"
#include "core/base/units.h"
#include "tests/cli/run_forerun.h"

namespace {

using nlohmann::json;
using testing_support::Answer;
using testing_support::contains;
using testing_support::content_of;
using testing_support::forerun;
using testing_support::ScratchFolder;

const std::string kSmall =
    "predict --model llama3-8b --node dgx-h100 --sequence 4096 --global-batch 16 --tp 4 --zero 1 ";

TEST(Predict, AFaultOfAFieldThatNobodyGaveIsNotPinnedOnAnotherFlag) {
  // No flag says a precision, and bf16, what it is then, is not a V100's.
  const Answer run = forerun("predict --model llama3-8b --node dgx-v100 --sequence 4096 --global-batch 8");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_TRUE(run.err.starts_with("error: training.precision: ")) << run.err;
}

TEST(Predict, TellsOfTheCardsThatAChangedNicHas) {
  // The node has one card of 100 Gb/s for eight GPUs; whoever changes its bandwidth alone has eight. What it is already
  // may be said again.
  const std::string job = "predict --model llama3-8b --node rtx-4090-x8 --sequence 512 --global-batch 8 --zero 3 ";
  EXPECT_FALSE(contains(forerun(job).out, "nic.count"));
  EXPECT_TRUE(contains(forerun(job + "--set cluster.node.nic.bandwidth=200Gb/s").out, "nic.count: 8"));
  for (const char* same :
       {"--gpus-per-node 8", "--set cluster.node.nic.bandwidth=12.5GB/s", "--set cluster.node.nic={}"})
    EXPECT_EQ(forerun(job + same).out, forerun(job + "--set cluster.node.nic.count=1").out) << same;
}

TEST(Predict, ANodeHasNoMoreGpusThanItHas) {
  const Answer run = forerun("predict llama3-8b-32xh200 --gpus-per-node 16");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_TRUE(contains(run.err, "--gpus-per-node 16: error: cluster.node.gpus: the node has 8 GPUs")) << run.err;
  EXPECT_EQ(forerun("predict llama3-8b-32xh200 --set cluster.node.gpus=16 --quiet").err, "");  // an invented one
  EXPECT_EQ(forerun("predict llama3-8b-32xh200 --set cluster.node.gpus=16 --gpus-per-node 12 --quiet").err, "");
}

TEST(Predict, AJobThatFitsExitsWithZeroAndASummary) {
  const Answer run = forerun(kSmall);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(contains(run.out, "Step time")) << run.out;
  EXPECT_EQ(run.err, "");
}

TEST(Predict, JsonOnStdoutIsOnlyJson) {
  const Answer run = forerun(kSmall + "--json -");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const json answer = json::parse(run.out);  // throws when anything else is printed
  EXPECT_EQ(answer["schema"], 1);
  EXPECT_EQ(answer["gpus"], 8);
  EXPECT_TRUE(answer["fits"].get<bool>());
}

TEST(Predict, TheBreakdownAddsUpToTheStep) {
  const auto answer = nlohmann::ordered_json::parse(forerun(kSmall + "--json -").out);
  double sum = 0;
  for (const auto& [name, time] : answer["breakdown_s"].items()) sum += time.get<double>();
  EXPECT_EQ(sum, answer["step_time_s"].get<double>());
}

TEST(Predict, AnswersWithJsonAndOneWhenItDoesNotFit) {
  // 70.6e9 parameters of 16 bytes (weights, gradients, Adam with fp32 master) on 8 GPUs without sharding: 1.1 TB / 8.
  const Answer run =
      forerun("predict --model llama3-70b --node dgx-h100 --sequence 4096 --global-batch 8 --tp 8 --json -");
  EXPECT_EQ(run.exit_code, 1) << run.err;
  const json answer = json::parse(run.out);
  EXPECT_FALSE(answer["fits"].get<bool>());
  EXPECT_GT(answer["step_time_s"].get<double>(), 0);
  EXPECT_GT(answer["memory"]["peak_bytes"].get<double>(), answer["memory"]["capacity_bytes"].get<double>());
}

TEST(Predict, WhatMakesItFitCanBeTypedAsItIsTold) {
  const ScratchFolder folder;
  for (const char* micro_batch : {"2", "4"}) {
    std::ofstream(folder / "job.yaml") << "model: llama3-8b\n"
                                          "cluster: {node: dgx-a100-40gb, nodes: 1}\n"
                                          "training: {sequence: 8192, global_batch: 8, micro_batch: "
                                       << micro_batch
                                       << "}\n"
                                          "strategy: {tp: 4, recompute: selective}\n";
    const std::string job = "predict " + (folder / "job.yaml") + " --quiet --json - ";
    const json answer = json::parse(forerun(job).out), &mends = answer["mends"], &times = answer["mend_step_times_s"];
    ASSERT_FALSE(mends.empty()) << micro_batch;
    ASSERT_EQ(times.size(), mends.size()) << micro_batch;
    EXPECT_TRUE(std::is_sorted(times.begin(), times.end())) << times;
    for (std::size_t i = 0; i < mends.size(); ++i) {
      const Answer run = forerun(job + mends[i].get<std::string>());
      EXPECT_EQ(run.exit_code, 0) << mends[i] << '\n' << run.err;
      EXPECT_EQ(json::parse(run.out)["step_time_s"], times[i]) << mends[i];
    }
  }
}

TEST(Predict, WhatMakesItFitIsToldBySetWhereSetGaveIt) {
  // --set beats a flag, so that "--recompute full" behind "--set strategy.recompute=none" would change nothing.
  for (const std::string key : {"strategy.recompute", "strategy.recompute.kind"}) {  // a map's word
    const std::string job = "predict llama3-70b-64xh100 --set " + key + "=none --quiet --json - ";
    const json answer = json::parse(forerun(job).out), &mends = answer["mends"];
    EXPECT_TRUE(std::ranges::count(mends, json("--set " + key + "=full"))) << mends;
    for (std::size_t i = 0; i < mends.size(); ++i) {
      const json mended = json::parse(forerun(job + mends[i].get<std::string>()).out);
      EXPECT_EQ(mended["fits"], true) << mends[i];
      EXPECT_EQ(mended["step_time_s"], answer["mend_step_times_s"][i]) << mends[i];
    }
    const json compared = json::parse(forerun("compare" + job.substr(7, job.find("--quiet") - 7) + "--json -").out);
    EXPECT_TRUE(std::ranges::is_permutation(compared["rows"][0]["mends"], mends)) << compared["rows"][0]["mends"];
  }
}

TEST(Predict, WhatMakesItFitIsWhatTheFrameworkCanSay) {
  // accelerate's FSDP has no tensor parallel ranks and no stages; Megatron has both.
  const auto mends = [](const std::string& framework) {
    return json::parse(forerun("predict --model llama3-8b --node dgx-h100 --sequence 32768 --global-batch 8 --zero 0 "
                               "--recompute full --framework " +
                               framework + " --json -")
                           .out)["mends"];
  };
  const auto cuts = [](const json& all) {
    return std::ranges::count_if(all, [](const json& mend) {
      const auto flags = mend.get<std::string>();
      return flags.starts_with("--tp") || flags.starts_with("--pp");
    });
  };
  const json megatron = mends("megatron"), transformers = mends("transformers");
  EXPECT_GT(cuts(megatron), 0) << megatron;
  EXPECT_EQ(cuts(transformers), 0) << transformers;
  EXPECT_FALSE(transformers.empty());
}

TEST(Predict, WhatMakesItFitIsToldWithItsStepTimeTheShortestFirst) {
  // 8.03e9 parameters: 128 GB of parameters, gradients and states, of which zero 2 leaves an eighth of 14 of 16 bytes.
  const std::string job = "predict --model llama3-8b --node dgx-h100 --sequence 8192 --global-batch 64 ";
  const json best = json::parse(forerun(job + "--zero 2 --json -").out);
  EXPECT_TRUE(best["fits"].get<bool>());
  const Answer run = forerun(job);
  EXPECT_EQ(run.exit_code, 1) << run.err;
  EXPECT_TRUE(contains(run.out, "\n    with --zero 2 ")) << run.out;
  EXPECT_TRUE(contains(run.out, base::human(base::s(best["step_time_s"])) + "\n    or   --")) << run.out;
}

TEST(Predict, ADayLongStepIsRefusedWhereOnlyItsPricesShowIt) {
  // 10^6 times slower than a rank of a machine of 1 GFLOP/s: the bound on the step passes the engine's clock.
  const Answer run = forerun(
      "predict --model gpt2 --node '{base: dgx-h100, gpu: {peak: {bf16: 1GFLOP/s}}}' --sequence 1024 --global-batch 8 "
      "--set 'simulation.slow_ranks=[{rank: 0, factor: 1000000}]'");
  EXPECT_EQ(run.exit_code, 2) << run.out;
  EXPECT_EQ(run.err,
            "error: cluster.node: its speeds could make this step last longer than the 6 days that can be simulated\n"
            "  mend: check the rates of node, gpu and framework, sequence and global_batch for a digit too many or too "
            "few\n");
}

TEST(Predict, SameInputSameBytes) { EXPECT_EQ(forerun(kSmall + "--json -").out, forerun(kSmall + "--json -").out); }

TEST(Predict, EveryMissingFieldIsAFaultThatNamesItsFlag) {
  const Answer run = forerun("predict --tp 4");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.out, "");
  for (const char* flag : {"--model", "--node", "--sequence", "--global-batch"}) {
    EXPECT_TRUE(contains(run.err, std::string("add ") + flag + ' ')) << flag << '\n' << run.err;
  }
}

TEST(Predict, AnUnknownKeyIsToldWithItsPlaceAndTheNearest) {
  const ScratchFolder folder;
  std::ofstream(folder / "job.yaml") << "model: llama3-8b\n"
                                        "cluster: {node: dgx-h100, nodes: 1}\n"
                                        "training: {sequence: 4096, global_batch: 16}\n"
                                        "strategy:\n"
                                        "  zeor: 1\n";
  const Answer run = forerun("predict " + (folder / "job.yaml"));
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_TRUE(contains(run.err, "job.yaml:5:3: error: strategy.zeor: ")) << run.err;
  EXPECT_TRUE(contains(run.err, "zero")) << run.err;
}

TEST(Predict, EveryFaultIsToldAtOnce) {
  const Answer run = forerun(kSmall + "--precision bf61 --set strategy.shcedule=1f1b --set training.micro_batch=none");
  EXPECT_EQ(run.exit_code, 2);
  for (const char* field : {"training.precision", "strategy.shcedule", "training.micro_batch"}) {
    EXPECT_TRUE(contains(run.err, field)) << field << '\n' << run.err;
  }
}

TEST(Predict, AFaultOfAFlagNamesTheFlag) {
  EXPECT_TRUE(contains(forerun(kSmall + "--pp many").err, "--pp many: error: strategy.pp: "));
}

TEST(Predict, FlagsOverrideTheFileAndSetOverridesBoth) {
  const ScratchFolder folder;
  std::ofstream(folder / "job.yaml") << "model: llama3-8b\n"
                                        "cluster: {node: dgx-h100, nodes: 1}\n"
                                        "training: {sequence: 4096, global_batch: 16}\n"
                                        "strategy: {tp: 2, zero: 1}\n";
  const std::string job = "predict " + (folder / "job.yaml") + " --json - ";
  const auto tokens = [&](const std::string& flags) {  // of a step: what tells the runs apart exactly
    const json answer = json::parse(forerun(job + flags).out);
    return answer["tokens_per_s"].get<double>() * answer["step_time_s"].get<double>();
  };
  // 16, 32 and 48 sequences of 4096 tokens.
  EXPECT_NEAR(tokens(""), 16 * 4096, 1);
  EXPECT_NEAR(tokens("--global-batch 32"), 32 * 4096, 1);
  EXPECT_NEAR(tokens("--set training.global_batch=48 --global-batch 32"), 48 * 4096, 1);
}

TEST(Predict, AMapAsAWholeLosesNothingThatTheCommandLineSaysOfItsFields) {
  const auto gpus = [](const std::string& flags) {
    return json::parse(forerun(kSmall + flags + " --json -").out)["gpus"];
  };
  EXPECT_EQ(gpus("--gpus-per-node 4 --set cluster.node=dgx-a100-80gb"), 4);
  EXPECT_EQ(gpus("--set cluster.node.gpus=4 --set cluster.node=dgx-a100-80gb"), 4);
  const Answer run = forerun(kSmall + "--set cluster.node=dgx-a100-80gb --calibration /no/such/file.yaml");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_TRUE(contains(run.err, "/no/such/file.yaml")) << run.err;
}

TEST(Predict, GpusPerNodeMakesTheNodeSmaller) {
  EXPECT_EQ(json::parse(forerun(kSmall + "--gpus-per-node 4 --json -").out)["gpus"], 4);
}

TEST(Predict, AJobMayBeNamedAsTheCatalogueDoes) {
  EXPECT_NE(forerun("predict llama3-70b-64xh100 --quiet").exit_code, 2);
  const Answer run = forerun("predict llama3-70b-64xh10");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_TRUE(contains(run.err, "did you mean llama3-70b-64xh100?")) << run.err;
}

TEST(Predict, QuietPrintsNothing) {
  const Answer run = forerun(kSmall + "--quiet");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.out + run.err, "");
}

TEST(Predict, WritesItsFilesAndLeavesNoOther) {
  const ScratchFolder folder;
  const Answer run = forerun(kSmall + "--json " + (folder / "a.json") + " --trace " + (folder / "b.json"));
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(contains(run.out, "Step time"));
  EXPECT_EQ(json::parse(content_of(folder / "a.json"))["schema"], 1);
  EXPECT_GT(json::parse(content_of(folder / "b.json"))["traceEvents"].size(), 100u);
  EXPECT_EQ(folder.files(), 2);
}

TEST(Predict, WhatCannotBeWrittenIsAFaultAndLeavesTheOldFile) {
  const ScratchFolder folder;
  const Answer run = forerun(kSmall + "--json " + (folder / "missing/a.json"));
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_TRUE(contains(run.err, "error: --json: cannot write ")) << run.err;
  EXPECT_EQ(folder.files(), 0);

  EXPECT_EQ(forerun(kSmall + "--json /dev/full").exit_code, 2);
}

TEST(Predict, AnHtmlPageIsWrittenOrToldToBeMissingBeforeAnythingElse) {
  const ScratchFolder folder;
  const Answer run = forerun(kSmall + "--quiet --html " + (folder / "a.html"));
  if (run.exit_code == 2) {
    EXPECT_TRUE(contains(run.err, "libjs-vega")) << run.err;
    return;
  }
  EXPECT_TRUE(content_of(folder / "a.html").starts_with("<!doctype html>"));
  EXPECT_EQ(run.out, "");
}

TEST(Predict, APageOnStdoutIsAlone) { EXPECT_EQ(forerun(kSmall + "--html - --json -").exit_code, 2); }

TEST(Predict, TwoAnswersOnStdoutAreAFault) { EXPECT_EQ(forerun(kSmall + "--json - --trace -").exit_code, 2); }

}  // namespace
