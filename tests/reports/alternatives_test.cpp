// SPDX-License-Identifier: Apache-2.0
#include "reports/alternatives.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/reports/view.h"

namespace {

result::Prediction step(double time_s, double compute, double exposed_dp, bool fits) {
  result::Prediction p;
  p.job = "toy on 2 GPUs";
  p.step_time_s = time_s;
  p.tokens_per_s = 1e6 / time_s;
  p.mfu = 4 / time_s;
  p.fits = fits;
  p.peak_bytes = 90'000'000'000;
  p.capacity_bytes = fits ? 141'000'000'000 : 80'000'000'000;
  p.breakdown_s = {{"compute", compute}, {"exposed_cp", 0}, {"exposed_dp", exposed_dp}};
  return p;
}

/// 10 s of which 2 are exposed; a NIC twice as fast takes 1 of them.
result::Alternatives sample() {
  const result::ChangedInput nic{"nic.bandwidth", "B/s", 50e9, 100e9}, memory{"gpu.memory", "B", 80e9, 141e9};
  return {step(10, 8, 2, false),
          {{"nic=2x", {nic}, step(9, 8, 1, false)},
           {"gpu.memory=141GB", {memory}, step(10, 8, 2, true)},
           {"together", {nic, memory}, step(9, 8, 1, true)}},
          {{"nicc=2x", "is no input of this job", "did you mean nic?"}}};
}

TEST(AlternativesText, IsWhatIsPrinted) {
  testing_support::expect_view("alternatives.txt", [](const reports::Style& s) { return reports::text(sample(), s); });
}

TEST(AlternativesText, LeavesOutSharesThatNobodyHas) {
  const std::string text = reports::text(sample());
  EXPECT_EQ(text.find("exposed cp"), std::string::npos) << text;
  EXPECT_NE(text.find("exposed dp"), std::string::npos) << text;
}

TEST(AlternativesJson, TellsEachStepAndWhatItSaves) {
  const auto json = nlohmann::json::parse(reports::json(sample()));
  EXPECT_EQ(json["before"]["step_time_s"], 10);
  EXPECT_EQ(json["before"]["fits"], false);
  ASSERT_EQ(json["after"].size(), 3u);
  EXPECT_EQ(json["after"][0]["change"], "nic=2x");
  EXPECT_EQ(json["after"][0]["saved_s"], 1);
  EXPECT_EQ(json["after"][0]["inputs"][0]["after"], 100e9);
  EXPECT_EQ(json["after"][0]["breakdown_s"]["exposed_dp"], 1);
  EXPECT_EQ(json["after"][2]["inputs"].size(), 2u);
  EXPECT_EQ(json["refused"][0]["change"], "nicc=2x");
  EXPECT_EQ(json["refused"][0]["refusal"], "is no input of this job");
}

}  // namespace
