// tests/cli/calibrate_test.cpp -- curves from tables, as a user has them made. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/cli/run_forerun.h"

namespace {

using nlohmann::json;
using testing_support::Answer;
using testing_support::contains;
using testing_support::content_of;
using testing_support::forerun;
using testing_support::ScratchFolder;

/// Square matmuls of an H100 at 700 TFLOP/s, with 5 us each.
std::string sweep() {
  std::string out = "gpu,dtype,kernel,m,n,k,latency_us,tflops,trtllm_version\n";
  for (int side = 512; side <= 16384; side *= 2) {
    const std::string s = std::to_string(side);
    const double us = 5 + 2 * std::pow(side, 3) / 700e6;
    out += "H100-SXM5-80GB,bfloat16,torch_flow," + s + ',' + s + ',' + s + ',' + std::to_string(us) + ",1,1.0\n";
  }
  return out;
}

TEST(Calibrate, WritesCalibrationsAndResidualsAndTellsErrors) {
  const ScratchFolder scratch;
  std::ofstream(scratch / "gemm.csv") << sweep();
  const Answer run = forerun("calibrate --from-data " + scratch / "gemm.csv" + " --gpu h100-sxm --json - --out " +
                             scratch / "out" + " --residuals " + scratch / "res");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const json out = json::parse(run.out);
  ASSERT_EQ(out["curves"].size(), 1u);
  EXPECT_EQ(out["curves"][0]["curve"], "matmul bf16");
  EXPECT_EQ(out["curves"][0]["rows"], 6);
  EXPECT_EQ(out["curves"][0]["verdict"], "fitted");
  const std::string written = content_of(scratch / "out/h100-sxm.yaml");
  EXPECT_TRUE(written.starts_with("# H100 SXM5 80 GB\n")) << written.substr(0, 80);
  EXPECT_TRUE(contains(written, "TensorRT-LLM 1.0"));
  EXPECT_TRUE(contains(content_of(scratch / "res/matmul.csv"), "h100-sxm,bf16,1,512,512,512,no,5."));
}

TEST(Calibrate, EveryFaultIsToldAndNothingIsWritten) {
  const ScratchFolder scratch;
  std::ofstream(scratch / "a.csv") << "gpu,speed\n";
  const Answer run =
      forerun("calibrate --from-data " + scratch / "a.csv" + " /nowhere.csv --gpu h100-sx --out " + scratch / "out");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_TRUE(contains(run.err, "a.csv:1:1: error: header: 'gpu,speed' has other columns than are known")) << run.err;
  EXPECT_TRUE(contains(run.err, "/nowhere.csv: error: PATH: there is no such file")) << run.err;
  EXPECT_TRUE(contains(run.err, "did you mean h100-sxm?")) << run.err;
  EXPECT_EQ(scratch.files(), 1);
}

}  // namespace
