// tests/cli/collective_test.cpp -- collectives as a user meets them: shown by size, imported from logs, validated.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/run_forerun.h"

namespace {

using nlohmann::json;
using testing_support::Answer;
using testing_support::contains;
using testing_support::content_of;
using testing_support::forerun;
using testing_support::ScratchFolder;

TEST(ShowCollective, TellsTimeBandwidthsAlgorithmProtocolAndCurveBySize) {
  const Answer run = forerun("show collective all_reduce --node dgx-h100 --max 1MiB --min 8 --json -");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const json out = json::parse(run.out);
  EXPECT_EQ(out["schema"], 1);
  EXPECT_EQ(out["ranks"], 8);
  ASSERT_EQ(out["rows"].size(), 18u);  // 2^3 to 2^20
  for (const json& row : out["rows"]) {
    // nccl-tests: algbw is size / time, busbw of an all_reduce 2 (8-1)/8 of it.
    const double algbw = row["bytes"].get<double>() / row["time_s"].get<double>();
    EXPECT_NEAR(row["algbw"].get<double>(), algbw, 1e-6 * algbw);
    EXPECT_NEAR(row["busbw"].get<double>(), 1.75 * algbw, 1e-6 * algbw);
    EXPECT_TRUE(row["measured"].get<bool>());
    EXPECT_TRUE(contains(row["curve"].get<std::string>(), "nvlink4."));
  }
  EXPECT_TRUE(contains(forerun("show collective send --node dgx-h100 --nodes 2 --csv").out, "send,16,8,"));
}

TEST(ShowCollective, EveryFaultOfTheLineIsTold) {
  const Answer run = forerun("show collective all_reduc --node dgx-h100 --nodes x --algorithm rung --min 9zz");
  EXPECT_EQ(run.exit_code, 2);
  for (const char* fault :
       {"did you mean all_reduce?", "--nodes: 'x' is no whole number", "--algorithm: 'rung' is not known", "--min: "}) {
    EXPECT_TRUE(contains(run.err, fault)) << fault << '\n' << run.err;
  }
}

// 8 cards of 400 Gb/s behind ports of 100 Gb/s bring a node 8 x 12.5 = 100 GB/s.
TEST(ShowCollective, CardsRunAtTheFabricsPorts) {
  const Answer run = forerun(
      "show collective all_gather --node dgx-h100 --nodes 4 --fabric ethernet-100g --min 8GiB --max 8GiB --json -");
  const double bandwidth = json::parse(run.out)["rows"][0]["busbw"];
  EXPECT_LE(bandwidth, 100e9);
  EXPECT_GE(bandwidth, 20e9);
}

TEST(ShowCollective, AFabricHoldsNoMoreNodesThanItHasPlacesFor) {
  EXPECT_TRUE(contains(forerun("show collective all_reduce --node dgx-h100 --nodes 300 --fabric torus-2d").err,
                       "--nodes: the fabric has places for 256 nodes, 300 are more"));
}

// 20 nodes of 4 GPUs fill racks of 72 as 40 and 40, so that no rack's few cards set the pace.
TEST(ShowCollective, RacksAreFilledInEqualSegments) {
  const auto time = [](const std::string& node) {
    const std::string size = " --nodes 20 --min 16GiB --max 16GiB --json -";
    return json::parse(forerun("show collective all_reduce --node " + node + size).out)["rows"][0]["time_s"]
        .get<double>();
  };
  const ScratchFolder folder;
  const std::string node = folder / "segments.yaml";
  std::ofstream(node) << "{name: segments, base: gb200-nvl72, nvlink: {domain: 40}}";
  EXPECT_DOUBLE_EQ(time("gb200-nvl72"), time(node));
}

TEST(ShowCollective, ItsOptionsAreRefusedForACatalogueEntry) {
  EXPECT_TRUE(contains(forerun("show dgx-h100 --nodes 2").err, "belongs to `forerun show collective`"));
}

TEST(ShowCollective, AnAlgorithmThatAnOperationLacksSaysWhatTakesItsPlace) {
  EXPECT_TRUE(contains(forerun("show collective all_gather --node dgx-h100 --algorithm nvls").out,
                       "all_gather has no nvls on this path: ring takes its place"));
}

/// A log of 8 ranks on one host whose all_reduce takes 20 us and 250 GB/s of algorithm bandwidth.
std::string log_text() {
  std::string out = "# Collective test starting: all_reduce_perf\n# nThread 1 nGpus 8\n# Using devices\n";
  for (int r = 0; r < 8; ++r) out += fmt::format("#  Rank {} Group 0 Pid 1 on alpha device {} [0] NVIDIA H100\n", r, r);
  out += "#  size count type redop root time algbw busbw #wrong\n";
  for (std::int64_t bytes = 8; bytes <= 1 << 30; bytes *= 2) {
    const double us = 20 + static_cast<double>(bytes) / 250e3;
    out += fmt::format("{} {} float sum -1 {:.2f} 0 0 0\n", bytes, bytes / 4, us);
  }
  return out + "# Avg bus bandwidth : 1\n";
}

TEST(Import, ALogBecomesTheLinksOfANodeThatPredictionsSayAreMeasured) {
  const ScratchFolder folder;
  std::ofstream(folder / "all_reduce.log") << log_text();
  std::ofstream(folder / "my-node.yaml") << "{base: dgx-h100, name: mine, links: ./my-links.yaml}\n";
  const Answer import =
      forerun("import nccl-tests " + (folder / "all_reduce.log") + " --node dgx-h100 -o " + (folder / "my-links.yaml"));
  ASSERT_EQ(import.exit_code, 0) << import.err;
  EXPECT_TRUE(contains(import.out, "not in the logs, so as in nvlink4: all_gather, reduce_scatter, all_to_all, send"));

  // 512 MiB: 20 us and 2147 us.
  const Answer shown =
      forerun("show collective all_reduce --node " + (folder / "my-node.yaml") + " --min 512MiB --max 512MiB --json -");
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  const json row = json::parse(shown.out)["rows"][0];
  EXPECT_NEAR(row["time_s"].get<double>(), 2167e-6, 0.05 * 2167e-6);
  EXPECT_TRUE(row["measured"].get<bool>());

  const Answer predicted = forerun("predict --model llama3-8b --sequence 8192 --global-batch 8 --tp 8 --node " +
                                   (folder / "my-node.yaml") + " --json -");
  const json answer = json::parse(predicted.out);
  bool told = false;
  for (const json& one : answer["provenance"]) {
    if (one["what"] != "all_reduce over my-links") continue;
    told = true;
    EXPECT_EQ(one["kind"], "measured") << one;
  }
  EXPECT_TRUE(told) << predicted.out << predicted.err;
}

TEST(Import, ABrokenLogIsToldByItsPlace) {
  const ScratchFolder folder;
  std::string text = log_text();
  text.replace(text.find("20.00"), 5, "20;00");
  std::ofstream(folder / "all_reduce.log") << text;
  const Answer run =
      forerun("import nccl-tests " + (folder / "all_reduce.log") + " --node dgx-h100 -o " + (folder / "out.yaml"));
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_TRUE(contains(run.err, "all_reduce.log:13:18: error: '20;00' is no time in microseconds")) << run.err;
  EXPECT_EQ(folder.files(), 1);  // nothing was written
  EXPECT_TRUE(contains(forerun("import nccl-test x --node dgx-h100").err, "'nccl-test' cannot be imported"));
}

TEST(ValidateCollectives, AreHeldAgainstTheirPrices) {
  const Answer run = forerun(std::string("validate --collectives ") + FORERUN_SOURCE_DIR +
                             "/validation/collectives/dgxc-benchmarking.yaml --json -");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const json out = json::parse(run.out);
  EXPECT_EQ(out["groups"].size(), 1u);
  EXPECT_LT(out["from_1MiB"]["median_abs_error"].get<double>(), 0.1);
  EXPECT_TRUE(contains(forerun("validate --collectives x.yaml --tier A").err, "is of steps, not of collectives"));
}

}  // namespace
