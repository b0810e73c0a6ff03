// SPDX-License-Identifier: Apache-2.0
#include "reports/kernel_calibration.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/reports/view.h"

namespace {

result::KernelCalibration sample() {
  result::KernelCalibration report;
  result::CurveFit fit;
  fit.calibration = "h100-sxm";
  fit.family = "matmul bf16";
  fit.source = "ai-dynamo/aiconfigurator";
  fit.rows = 7164;
  fit.before = {0.040, 0.004, 0.110, 0.072};
  fit.after = {0.041, 0.009, 0.105, 0.071};
  fit.verdict = result::CurveFit::Verdict::replaced;
  report.curves.push_back(fit);
  fit.family = "attention flash2";
  fit.source = "MooreThreads/SimuMax";
  fit.rows = 24;
  fit.host_s = 92e-6;
  fit.verdict = result::CurveFit::Verdict::kept;
  report.curves.push_back(fit);
  fit.source = "a-project-with-a-very-long/name-of-its-own";
  fit.verdict = result::CurveFit::Verdict::not_fitted;
  fit.host_s = 0;
  report.curves.push_back(fit);
  report.followed = {"h800 matmul bf16: as h100-sxm matmul bf16"};
  report.left_out = {{"matmuls with a side below 256", 35330}};
  return report;
}

TEST(KernelCalibrationText, IsOneReadableTable) {
  testing_support::expect_view("calibrate.txt",
                               [](const reports::Style& s) { return reports::kernel_calibration_text(sample(), s); });
}

TEST(KernelCalibrationJson, HoldsTheSameFigures) {
  const auto out = nlohmann::json::parse(reports::kernel_calibration_json(sample()));
  EXPECT_EQ(out["schema"], 1);
  ASSERT_EQ(out["curves"].size(), 3u);
  EXPECT_EQ(out["curves"][0]["verdict"], "fitted");
  EXPECT_EQ(out["curves"][0]["after"]["median_abs"], 0.041);
  EXPECT_EQ(out["curves"][1]["host_s"], 92e-6);
  EXPECT_EQ(out["left_out"]["matmuls with a side below 256"], 35330);
}

TEST(ResidualsCsv, IsTheTableWithItsHeader) {
  EXPECT_EQ(reports::residuals_csv({"memory", {"gpu", "bytes"}, {{"h100-sxm", "8"}, {"b200", "16"}}}),
            "gpu,bytes\nh100-sxm,8\nb200,16\n");
}

}  // namespace
