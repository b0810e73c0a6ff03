// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "sim/network/simgrid.h"
#include "tests/cli/run_forerun.h"

namespace {

using nlohmann::json;
using testing_support::Answer;
using testing_support::contains;
using testing_support::content_of;
using testing_support::forerun;
using testing_support::ScratchFolder;

const std::string kSmall = "compare --model llama3-8b --node dgx-h100 --sequence 4096 --global-batch 16 --zero 1 ";

TEST(CompareCommand, EveryCombinationIsARowBestFirst) {
  const Answer run = forerun(kSmall + "--vary strategy.tp=4,8 --vary training.micro_batch=1,2 --json -");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const json answer = json::parse(run.out);
  EXPECT_EQ(answer["schema"], 1);
  ASSERT_EQ(answer["rows"].size(), 4u);
  for (std::size_t i = 1; i < 4; ++i) EXPECT_GE(answer["rows"][i]["step_time_s"], answer["rows"][i - 1]["step_time_s"]);
  EXPECT_TRUE(answer["rows"][0]["varied"].contains("training.micro_batch"));
}

TEST(CompareCommand, QuietWritesFilesAlone) {
  const ScratchFolder folder;
  const Answer run = forerun(kSmall + "--vary strategy.tp=4,8 --quiet --json " + (folder / "a.json"));
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.out + run.err, "");
  EXPECT_EQ(json::parse(content_of(folder / "a.json"))["rows"].size(), 2u);
}

TEST(CompareCommand, NodesOfDifferentGpusAreOrderedByWhatAGpuDoes) {
  // Two trays of a rack have 8 GPUs, two DGX 16.
  const std::string command =
      "compare --model llama3-8b --sequence 8192 --global-batch 128 --zero 1 --recompute full --nodes 2 "
      "--vary cluster.node=dgx-h100,gb200-nvl72,dgx-b200 ";
  const json answer = json::parse(forerun(command + "--json -").out);
  EXPECT_EQ(answer["order"], "tokens_per_s_per_gpu");
  const json &first = answer["rows"][0], &second = answer["rows"][1];
  EXPECT_EQ(first["gpus"], 8);
  EXPECT_EQ(second["gpus"], 16);
  EXPECT_EQ(first["slowdown"], 1);
  EXPECT_GT(first["step_time_s"], second["step_time_s"]);
  EXPECT_GT(first["tokens_per_s_per_gpu"], second["tokens_per_s_per_gpu"]);
}

TEST(CompareCommand, ARowIsThePredictionOfItsJob) {
  const json row = json::parse(forerun(kSmall + "--vary strategy.tp=4 --json -").out)["rows"][0];
  const json alone = json::parse(
      forerun("predict --model llama3-8b --node dgx-h100 --sequence 4096 --global-batch 16 --zero 1 --tp 4 --json -")
          .out);
  EXPECT_EQ(row["step_time_s"], alone["step_time_s"]);
  EXPECT_EQ(row["peak_bytes"], alone["memory"]["peak_bytes"]);
}

TEST(CompareCommand, FabricsDifferWhereStagesLieOnSeveralLeaves) {
  // Stages two nodes apart over leaves of six: of a leaf's six nodes two send out, 16 cards into 48 / 4 = 12. Hops are
  // waited for. The closed form counts what flows show.
  const auto steps = [](const std::string& fidelity) {
    std::map<std::string, double> of;
    const Answer run = forerun(
        "compare llama3-70b-64xh100 --set strategy.recompute=full --set strategy.overlap.p2p=false "
        "--set network.fidelity=" +
        fidelity + " --vary cluster.fabric=fat-tree-1to1,fat-tree-4to1 --json -");
    const json answer = json::parse(run.out);
    for (const json& row : answer["rows"]) of[row["varied"]["cluster.fabric"]] = row["step_time_s"];
    return of;
  };
  std::map<std::string, double> counted = steps("closed_form");
  EXPECT_GT(counted["fat-tree-4to1"], counted["fat-tree-1to1"] * 1.001);
  if (!sim::has_simgrid()) GTEST_SKIP() << "built without SimGrid";
  std::map<std::string, double> flow = steps("flow");
  for (const auto& [fabric, step] : flow) EXPECT_NEAR(step / counted[fabric], 1, 1e-6) << fabric;
}

TEST(CompareCommand, AMendOfWhatIsVariedIsLaidOverItBySet) {
  const std::string job = "llama3-70b-64xh100";
  const json row = json::parse(forerun("compare " + job + " --vary strategy.zero=1 --json -").out)["rows"][0];
  ASSERT_FALSE(row["mends"].empty()) << row.dump();
  for (const json& mend : row["mends"]) {
    const Answer run = forerun("predict " + job + " --set strategy.zero=1 " + mend.get<std::string>() + " --json -");
    EXPECT_TRUE(json::parse(run.out)["fits"]) << mend;
  }
}

TEST(CompareCommand, AnUnsoundCombinationIsARowAndNoError) {
  const Answer run = forerun(kSmall + "--vary strategy.tp=3,4");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(contains(run.out, "Refused")) << run.out;
  EXPECT_TRUE(contains(run.out, "strategy.tp: ")) << run.out;
}

TEST(CompareCommand, ExitsWithOneWhenNothingFits) {
  // 70.6e9 parameters of 16 bytes on 8 GPUs: 140 GB each.
  const Answer run =
      forerun("compare --model llama3-70b --node dgx-h100 --sequence 4096 --global-batch 8 --vary strategy.tp=3,8");
  EXPECT_EQ(run.exit_code, 1) << run.err;
  EXPECT_TRUE(contains(run.out, "Nothing fits.")) << run.out;
}

TEST(CompareCommand, SaysThatNoneCanBeRunWhereAllAreRefused) {
  const Answer run = forerun(kSmall + "--vary strategy.tp=3,5");
  EXPECT_EQ(run.exit_code, 1) << run.err;
  EXPECT_TRUE(contains(run.out, "None can be run.")) << run.out;
  EXPECT_FALSE(contains(run.out, "Nothing fits.")) << run.out;
}

TEST(CompareCommand, ABracketKeepsItsCommas) {
  const json answer =
      json::parse(forerun(kSmall + "--tp 4 --vary 'strategy.recompute=none,{kind: full, layers: 3}' --json -").out);
  ASSERT_EQ(answer["rows"].size(), 2u);
  EXPECT_EQ(answer["rows"][1]["varied"]["strategy.recompute"], "{kind: full, layers: 3}");
}

TEST(Compare, VariesWhatLiesInAnEntryThatAFlagNames) {
  const std::string job = "compare --model llama3-8b --node dgx-h100 --sequence 4096 --global-batch 64 --zero 1 ";
  const json rows = json::parse(forerun(job + "--vary model.layers=16,32 --json -").out)["rows"];
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_LT(rows[0]["step_time_s"], rows[1]["step_time_s"]);
  EXPECT_EQ(rows[1]["step_time_s"], json::parse(forerun("predict" + job.substr(7) + "--json -").out)["step_time_s"]);
}

TEST(CompareCommand, AFieldThatOnlyTheVariationGivesIsNotMissing) {
  const Answer run = forerun(
      "compare --model llama3-8b --node dgx-h100 --sequence 4096 --tp 4 --zero 1 "
      "--vary training.global_batch=16,32");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(contains(run.out, "tokens per second and GPU")) << run.out;  // the steps differ in tokens
}

TEST(CompareCommand, ADpOfTheFileFollowsTheVariedDegrees) {
  // The file says tp 4, pp 4, dp 4 on 64 GPUs; at tp 8 dp is 2, and that is told.
  const json answer = json::parse(forerun("compare llama3-70b-64xh100 --vary strategy.tp=4,8 --json -").out);
  for (const json& row : answer["rows"]) {
    EXPECT_EQ(row["varied"]["strategy.dp"], row["varied"]["strategy.tp"] == "4" ? "4" : "2") << row;
  }
  // Asked for on the command line it stays, and does not go together with 64 GPUs.
  const json asked = json::parse(forerun("compare llama3-70b-64xh100 --dp 4 --vary strategy.tp=4,8 --json -").out);
  EXPECT_EQ(asked["rows"][1]["status"], "refused");
}

TEST(CompareCommand, SeveralFilesAreSeveralRows) {
  const Answer run = forerun("compare llama2-7b-8xh100 llama2-7b-2x4090 --csv -");
  EXPECT_TRUE(contains(run.out, ",llama2-7b-8xh100,")) << run.out << run.err;
  EXPECT_TRUE(contains(run.out, ",llama2-7b-2x4090,")) << run.out;
}

TEST(CompareCommand, ThroughputsOfTokensAndOfSamplesAreNotPutInOrder) {
  // ResNet-50's 17,000 images a second are no more and no less than a Llama's 100,000 tokens: steps are told by time.
  const Answer run = forerun("compare llama2-7b-8xh100 resnet50-8xa100");
  EXPECT_TRUE(contains(run.out, "Best first, by step time")) << run.out << run.err;
  EXPECT_TRUE(contains(run.out, " items/s/GPU ")) << run.out;
  const Answer images = forerun("compare resnet50-8xa100 --vary training.micro_batch=128,256");
  EXPECT_TRUE(contains(images.out, " samples/s/GPU ")) << images.out << images.err;
  const Answer page = forerun("compare resnet50-8xa100 --vary training.micro_batch=128,256 --markdown -");
  EXPECT_TRUE(contains(page.out, "| samples/s/GPU |")) << page.out;
}

TEST(CompareCommand, WrongInputIsTold) {
  for (const char* wrong :
       {"--vary strategy.tpp=1,2", "--vary strategy.tp", "--vary strategy.tp=1,,2", "--vary 'strategy.tp=[1'",
        "--vary strategy.tp=1 --vary strategy.tp=2", "--vary strategy.tp=1,1", "--tp 2 --vary strategy.tp=1,2",
        "--set training.micro_batch=2 --vary training.micro_batch=1,2", "--tp 2 --vary 'strategy={tp: 1},{tp: 4}'",
        "--set strategy.recompute.layers=2 --vary strategy.recompute=none,full", "llama2-7b-8xh100 llama2-7b-8xh100",
        "--tp 3", "--json - --csv -", "--csv - --markdown -"}) {
    const Answer run = forerun(kSmall + wrong);
    EXPECT_EQ(run.exit_code, 2) << wrong << '\n' << run.out;
    EXPECT_EQ(run.out, "") << wrong;
    EXPECT_TRUE(contains(run.err, "mend:")) << wrong << '\n' << run.err;
  }
}

TEST(CompareCommand, WritesCsvBesideTheTable) {
  const ScratchFolder scratch;
  const Answer run = forerun(kSmall + "--vary strategy.tp=4,8 --csv '" + scratch / "a.csv" + "'");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(contains(run.out, "Best first")) << run.out;
  EXPECT_TRUE(content_of(scratch / "a.csv").starts_with("status,job,strategy.tp,"));
}

}  // namespace
