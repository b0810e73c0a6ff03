// tests/cli/calibrate_here_test.cpp -- forerun calibrate on this machine: without a GPU it says so, and points that
// were timed elsewhere become the file that predictions read. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "real/calibrate/run.h"
#include "tests/cli/run_forerun.h"
#include "tests/real/calibrate/fake_bench.h"
#include "tests/real/calibrate/known_device.h"

namespace {

using testing_support::Answer;
using testing_support::contains;
using testing_support::content_of;
using testing_support::forerun;
using testing_support::ScratchFolder;

/// The points of a minute on a fake H200.
std::string points_in(const ScratchFolder& folder, real::Machine machine = fake::machine()) {
  const std::string path = folder / "h200.points.jsonl";
  fake::Bench bench(fake::device());
  real::PointsFile file = real::PointsFile::begin(path, machine);
  real::run(bench, real::points({}, {}), file, base::s(60));
  return path;
}

TEST(CalibrateHere, WithoutAGpuItSaysSo) {
  setenv("CUDA_VISIBLE_DEVICES", "", 1);  // no card is seen where there is one, either
  const ScratchFolder folder;
  const Answer run = forerun("calibrate --out '" + folder / "out" + "'");
  unsetenv("CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(run.exit_code, 3) << run.err;
  EXPECT_TRUE(contains(run.err, "GPU")) << run.err;
  EXPECT_EQ(run.out, "");
}

TEST(CalibrateHere, DrivesAreTimedByThemselves) {
  const Answer beside = forerun("calibrate --drive /tmp --minutes 5");
  EXPECT_EQ(beside.exit_code, 2);
  EXPECT_TRUE(contains(beside.err, "--minutes: stands beside --drive")) << beside.err;
  const Answer nowhere = forerun("calibrate --drive /no/such/folder");
  EXPECT_EQ(nowhere.exit_code, 3);
  EXPECT_TRUE(contains(nowhere.err, "cannot make a file in '/no/such/folder': No such file")) << nowhere.err;
}

TEST(CalibrateHere, ABuildWithoutTheWorkerSaysHowToGetIt) {
  setenv("FORERUN_WORKER", "/no/such/worker", 1);
  const ScratchFolder folder;
  const Answer run = forerun("calibrate --out '" + folder / "out" + "'");
  unsetenv("FORERUN_WORKER");
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_TRUE(contains(run.err, "error: this build has no GPU part: there is no /no/such/worker")) << run.err;
}

TEST(CalibrateHere, PointsBecomeTheFileThatAPredictionReads) {
  const ScratchFolder folder;
  const Answer run = forerun("calibrate --minutes 0 --resume '" + points_in(folder) + "'");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(contains(run.out, "pace of matmuls under sustained load (power.sustained): 0.9")) << run.out;
  const std::string file = folder / "dgx-h200-2026-11-22.yaml";  // the node that has such a GPU, and the points' day
  EXPECT_TRUE(contains(run.out, "forerun predict JOB --calibration " + file)) << run.out;
  EXPECT_TRUE(contains(content_of(file), "name: dgx-h200-2026-11-22\n"));

  const Answer predicted = forerun("predict llama3-8b-32xh200 --json - --calibration '" + file + "'");
  ASSERT_EQ(predicted.exit_code, 0) << predicted.err;
  const auto json = nlohmann::json::parse(predicted.out);
  std::string matmul, embedding;
  for (const auto& number : json["provenance"]) {
    const auto what = number["what"].get<std::string>();
    const std::string told = number["kind"].get<std::string>() + ": " + number["source"].get<std::string>();
    if (what.starts_with("matmul bf16")) matmul = told;
    if (what.starts_with("embedding")) embedding = told;
  }
  EXPECT_TRUE(matmul.starts_with("measured: forerun on NVIDIA H200, 2026-11-22")) << matmul;
  EXPECT_TRUE(embedding.starts_with("measured: forerun on NVIDIA H200")) << embedding;
}

TEST(CalibrateHere, SeveralNodesDrawTheirLinksAndTheirFabric) {
  const ScratchFolder folder;
  real::Machine machine = fake::machine();
  machine.gpus = 8;
  machine.nodes = 4;
  const std::string path = folder / "net.points.jsonl";
  fake::Bench bench(fake::device());
  bench.cluster.emplace();
  bench.cluster->node = fake::node();
  bench.cluster->fabric = fake::fabric();
  bench.cluster->fabric.calibration.all_gather.efficiency *= 0.5;
  bench.cluster->fabric.calibration.reduce_scatter.efficiency *= 0.5;
  real::PointsFile points = real::PointsFile::begin(path, machine);
  real::run(bench, real::collective_points({.gpus = 8, .nodes = 4}), points, base::s(600));

  const Answer run = forerun("calibrate --minutes 0 --resume '" + path + "'");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(folder.files(), 3);  // the points, links and fabric; no kernel was timed
  const std::string fabric = folder / "dgx-h200-2026-11-22-fabric.yaml";
  const std::string flags = "--set 'cluster.fabric={base: rail-400g, calibration: " + fabric + "}'";
  EXPECT_TRUE(contains(run.out, "forerun predict JOB " + flags)) << run.out;
  const auto exposed = [](const std::string& more) {
    const Answer told = forerun("predict llama3-8b-32xh200 --set strategy.zero=3 --json - " + more);
    EXPECT_EQ(told.exit_code, 0) << told.err;
    return nlohmann::json::parse(told.out)["step_time_s"].get<double>();
  };
  EXPECT_GT(exposed(flags), 1.02 * exposed(""));  // gathers over half of the network
}

TEST(CalibrateHere, SeveralNodesWantAFabric) {
  const ScratchFolder folder;
  real::Machine machine = fake::machine();
  machine.nodes = 2;
  const std::string points = points_in(folder, machine);
  const std::string node = folder / "bare.yaml";
  std::ofstream(node) << "base: dgx-h200\nfabric: null\n";
  const Answer run = forerun("calibrate --minutes 0 --resume '" + points + "' --node '" + node + "'");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_TRUE(contains(run.err, "--fabric: is missing: 2 nodes took part")) << run.err;
}

TEST(CalibrateHere, APredictionWithTheCurvesThatWereTimedIsThatOfTheDevice) {
  // The fake's kernels are the catalogue's curves, so that both predictions are of one machine; what differs besides is
  // interference and clocks, which the fake has its own of: they are set back.
  const ScratchFolder folder;
  ASSERT_EQ(forerun("calibrate --minutes 0 --resume '" + points_in(folder) + "'").exit_code, 0);
  std::string text = content_of(folder / "dgx-h200-2026-11-22.yaml");
  const spec::Calibration known = fake::node().calibration;
  const auto set = [&](const std::string& key, double value) {
    const std::size_t at = text.find(key + ": ") + key.size() + 2;
    text.replace(at, text.find('\n', at) - at, std::to_string(value));
  };
  set("  sustained", known.power.sustained);
  set("compute_slowdown", known.compute_slowdown);
  set("comm_slowdown", known.comm_slowdown);
  std::ofstream(folder / "dgx-h200-2026-11-22.yaml") << text;
  const auto step = [&](const std::string& flags) {
    const Answer run = forerun("predict llama3-8b-32xh200 --json - " + flags);
    return nlohmann::json::parse(run.out)["step_time_s"].get<double>();
  };
  EXPECT_NEAR(step("--calibration '" + folder / "dgx-h200-2026-11-22.yaml" + "'") / step(""), 1, 0.03);
}

TEST(CalibrateHere, AMachineThatIsNotTheNamedNodeIsRefused) {
  const ScratchFolder folder;
  const std::string points = points_in(folder);
  const Answer wrong = forerun("calibrate --minutes 0 --node a10g-x8 --resume '" + points + "'");
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_TRUE(contains(wrong.err, "--node: a10g-x8 is not where the points were timed: ")) << wrong.err;
  EXPECT_EQ(folder.files(), 1);  // the points alone
}

TEST(CalibrateHere, AGpuThatNoDataSheetDescribesAsksForOne) {
  const ScratchFolder folder;
  real::Machine machine = fake::machine();
  machine.gpu = "NVIDIA X900";
  const Answer run = forerun("calibrate --minutes 0 --resume '" + points_in(folder, machine) + "'");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_TRUE(contains(run.err, "no one GPU of the catalogue is NVIDIA X900 with 132 SMs")) << run.err;
}

TEST(CalibrateHere, OptionsThatDoNotBelongTogetherAreRefused) {
  for (const char* line :
       {"calibrate --gpu h100-sxm", "calibrate --minutes 0", "calibrate --minutes x", "calibrate --gpus 0",
        "calibrate tables.csv", "calibrate --from-data none.csv --minutes 3"}) {
    EXPECT_EQ(forerun(line).exit_code, 2) << line;
  }
}

TEST(CalibrateHere, ACalibrationThatIsNotThereIsAFault) {
  const Answer run = forerun("predict llama3-8b-32xh200 --calibration nowhere.yaml");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_TRUE(contains(run.err, "there is no file 'nowhere.yaml'")) << run.err;
}

}  // namespace
