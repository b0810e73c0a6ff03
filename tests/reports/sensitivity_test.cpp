// SPDX-License-Identifier: Apache-2.0
#include "reports/sensitivity.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/reports/view.h"

namespace {

/// A step of 10 s: with 10 % more peak 9.4, with 10 % more of a host's launch 10.2.
result::Sensitivity sample() {
  result::Sensitivity s;
  s.job = "toy on 2 GPUs";
  s.step_time_s = 10;
  s.effects = {
      {"gpu.peak.bf16", "FLOP/s", 989e12, -0.66, -0.66, -0.66, true, 9.4, "datasheet", "gpus/toy", "", 0},
      {"matmul.bf16.ceiling", "", 0.8, -0.6, -0.6, -0.6, true, 9.45, "measured", "rows \"a\", b", "matmul bf16", 0.25},
      {"framework.launch", "s", 12e-6, 0.15, 0.1, 0.2, false, 10.2, "assumed", "an estimate", "host", 0.5},
      {"nic.bandwidth", "B/s", 50e9, -0.001, -0.001, -0.001, false, 9.999, "datasheet", "nodes/toy", "", 0}};
  s.unused = 200;
  s.hidden = 3;
  s.counts = 5;
  s.warnings = {"node 3: 1 of 8 cards lost: dp 2 x as long"};
  return s;
}

TEST(SensitivityText, IsWhatIsPrinted) {
  testing_support::expect_view("sensitivity.txt", [](const reports::Style& s) { return reports::text(sample(), s); });
}

TEST(SensitivityText, WhatShowsAsNothingIsCounted) {
  const std::string text = reports::text(sample());
  EXPECT_EQ(text.find("nic.bandwidth"), std::string::npos) << text;
  EXPECT_NE(text.find("1 change it by less than 0.05 %"), std::string::npos) << text;
}

TEST(SensitivityText, SaysWhatMoreCostsAndWhereTheStepBends) {
  const std::string text = reports::text(sample());
  EXPECT_NE(text.find("10 % more framework.launch costs 2.0 % (200 ms)"), std::string::npos) << text;
  EXPECT_NE(text.find("0.150?"), std::string::npos) << text;
}

TEST(SensitivityJson, CarriesEveryInputAndItsSource) {
  const auto json = nlohmann::json::parse(reports::json(sample()));
  EXPECT_EQ(json["schema"], 1);
  ASSERT_EQ(json["sensitivity"].size(), 4u);
  const auto& ceiling = json["sensitivity"][1];
  EXPECT_EQ(ceiling["input"], "matmul.bf16.ceiling");
  EXPECT_EQ(ceiling["elasticity"], -0.6);
  const auto& launch = json["sensitivity"][2];  // bends: 0.15 is the mean
  EXPECT_EQ(launch["elasticity_below"], 0.1);
  EXPECT_EQ(launch["elasticity_above"], 0.2);
  EXPECT_EQ(ceiling["kind"], "measured");
  EXPECT_EQ(ceiling["source"], "rows \"a\", b");
  EXPECT_EQ(ceiling["interval_cause"], "matmul bf16");
  EXPECT_EQ(ceiling["interval_share"], 0.25);
  EXPECT_FALSE(json["sensitivity"][0].contains("interval_cause"));
  EXPECT_EQ(json["without_effect"]["unused"], 200);
}

TEST(SensitivityCsv, QuotesTexts) {
  const std::string csv = reports::csv(sample());
  EXPECT_NE(csv.find("\"rows \"\"a\"\", b\""), std::string::npos) << csv;
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 5);  // a header and four inputs
}

}  // namespace
