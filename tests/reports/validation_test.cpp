// SPDX-License-Identifier: Apache-2.0
#include "reports/validation.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "reports/layout.h"
#include "tests/reports/view.h"

namespace {

using nlohmann::json;
using result::Validation;
using result::ValidationCase;
using testing_support::expect_golden;

ValidationCase good() {
  ValidationCase row;
  row.id = "gpt-tp2";
  row.tier = "A";
  row.notes = "Table 1";
  row.measured_s = 2;
  row.predicted_s = 2.5;
  row.low_s = 2.25;
  row.high_s = 2.75;
  row.interval_contributions = {{"matmul bf16", 0.5, 0.125, 0.25}};
  row.labels = {{"tp", "2"}};
  row.error = 0.25;
  row.inside = false;
  row.fits = true;
  row.measured_bytes = 40'000'000'000;
  row.predicted_bytes = 42'000'000'000;
  row.memory_kind = "allocated";
  row.memory_error = 0.05;
  row.warnings = {"tp crosses nodes"};
  return row;
}

ValidationCase refused(const std::string& id, const std::string& why) {
  ValidationCase row;
  row.id = id;
  row.tier = "B";
  row.measured_s = 3;
  row.error_message = "f.yaml:7:5: error: " + why + "\n  mend: write another\nf.yaml:9:1: error: a second one";
  return row;
}

Validation sample() {
  Validation v;
  v.files.resize(2);
  v.files[0].file = "published/gpt-paper.yaml";
  v.files[0].source = {{"paper", "Large | small models"}, {"arxiv", "2401.1"}, {"commit", "abc"}};
  v.files[0].cases = {good(), refused("moe", "model.moe: mixture of experts"), refused("cp", "strategy.cp: context"),
                      refused("cp2", "strategy.cp: context")};
  auto& s = v.files[0].summary;
  s.rows = 1;
  s.refused = 3;
  s.mape = s.median_abs_error = s.mean_signed_error = s.p90_abs_error = 0.25;
  s.coverage_80 = 0;
  s.memory_rows = s.fits_rows = 1;
  s.memory_mape = 0.05;
  s.fits_right = 1;
  v.files[0].rankings = {{"gpt on 1 x dgx", 4, 0.5}};
  v.files[1].file = "none.yaml";
  v.summary = s;
  v.summary.kendall_tau = 0.5;
  v.summary.rankings = 1;
  v.macro.files = 1;
  v.macro.median_abs_error = 0.25;
  v.macro.mean_signed_error = -0.125;
  return v;
}

TEST(ValidationText, IsGolden) {
  testing_support::expect_view("validation.txt",
                               [](const reports::Style& s) { return reports::validation_text(sample(), s); });
}

TEST(ValidationText, InColourOnAWideTerminalIsGolden) {
  expect_golden("validation_in_colour.txt", reports::validation_text(sample(), {120, true}));
}

TEST(ValidationText, NoLineIsWiderThanAHundredColumns) {
  Validation v = sample();
  v.files[0].file = std::string(200, 'f') + ".yaml";
  v.files[0].cases[0].id = "a case with ümlauts and a name that is far too long for a table of a hundred columns, ü";
  std::istringstream lines(reports::validation_text(v));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(reports::columns(line), 100) << line;
}

TEST(ValidationText, CountsRefusalsByTheirFirstFault) {
  const std::string text = reports::validation_text(sample());
  const std::size_t two = text.find("     2  strategy.cp: context\n"),
                    one = text.find("     1  model.moe: mixture of experts\n");
  EXPECT_NE(two, text.npos) << text;
  EXPECT_NE(one, text.npos) << text;
  EXPECT_LT(two, one);  // the commonest first
}

TEST(ValidationText, OfNothingIsStillATable) {
  EXPECT_NE(reports::validation_text({}).find("all rows"), std::string::npos);
}

TEST(ValidationMarkdown, IsGolden) { expect_golden("validation.md", reports::validation_markdown(sample())); }

TEST(ValidationMarkdown, EveryLineHasTheSameCells) {
  std::istringstream lines(reports::validation_markdown(sample()));
  for (std::string line; std::getline(lines, line);) {
    int bars = 0;
    for (std::size_t i = 0; i < line.size(); ++i) bars += line[i] == '|' && (i == 0 || line[i - 1] != '\\');
    EXPECT_EQ(bars, 9) << line;
  }
}

TEST(ValidationJson, HoldsTheKeysThatScriptsRelyOn) {
  const json parsed = json::parse(reports::validation_json(sample()));
  EXPECT_EQ(parsed["schema"], 1);
  EXPECT_FALSE(parsed.contains("groups"));
  const json& file = parsed["files"][0];
  EXPECT_EQ(file["file"], "published/gpt-paper.yaml");
  EXPECT_EQ(file["source"]["arxiv"], "2401.1");
  EXPECT_EQ(file["rankings"][0]["kendall_tau"], 0.5);
  for (const char* key : {"rows", "refused", "mape", "median_abs_error", "mean_signed_error", "p90_abs_error",
                          "coverage_80", "memory_rows", "memory_mape", "fits_rows", "fits_right", "missed_misfits",
                          "false_misfits", "kendall_tau", "rankings"}) {
    EXPECT_TRUE(file["summary"].contains(key)) << key;
    EXPECT_TRUE(parsed["summary"].contains(key)) << key;
  }
  EXPECT_EQ(parsed["summary"]["macro"]["files"], 1);
  EXPECT_EQ(parsed["summary"]["macro"]["mean_signed_error"], -0.125);
  EXPECT_FALSE(file["summary"].contains("macro"));
  EXPECT_EQ(parsed["files"][1]["cases"], json::array());
}

TEST(ValidationJson, ACaseThatRanHasEveryValueAndNoErrorMessage) {
  const json row = json::parse(reports::validation_json(sample()))["files"][0]["cases"][0];
  const json expected =
      json::parse(R"({"id": "gpt-tp2", "tier": "A", "measured_s": 2, "predicted_s": 2.5, "error": 0.25,
    "low_s": 2.25, "high_s": 2.75, "inside": false, "fits": true, "measured_fits": null, "measured_bytes": 40000000000,
    "memory_kind": "allocated", "predicted_bytes": 42000000000, "memory_error": 0.05,
    "interval_contributions": [{"cause": "matmul bf16", "share": 0.5, "faster": 0.125, "slower": 0.25}],
    "labels": {"tp": "2"}, "warnings": ["tp crosses nodes"], "notes": "Table 1"})");
  EXPECT_EQ(row, expected);
}

TEST(ValidationJson, ARefusedCaseTellsEveryFaultAndNoPrediction) {
  const json row = json::parse(reports::validation_json(sample()))["files"][0]["cases"][1];
  EXPECT_EQ(row["error_message"],
            "f.yaml:7:5: error: model.moe: mixture of experts\n  mend: write another\nf.yaml:9:1: error: a second one");
  EXPECT_EQ(row["measured_s"], 3);
  for (const char* key :
       {"predicted_s", "error", "low_s", "high_s", "inside", "fits", "predicted_bytes", "memory_error"}) {
    EXPECT_TRUE(row.at(key).is_null()) << key;
  }
}

TEST(ValidationGroups, AreATableAndAKeyOfTheJson) {
  result::ValidationGrouping by_tp{"tp", {{"2", sample().summary}, {"16", {}}}};
  const std::string text = reports::grouping_text(by_tp);
  testing_support::expect_golden("validation_groups.txt", text);
  EXPECT_NE(text.find("\nBy tp "), text.npos) << text;
  EXPECT_NE(text.find("\n2                               1       3   25.0 %  +25.0 %"), text.npos) << text;
  const json parsed = json::parse(reports::validation_json(sample(), {by_tp}));
  EXPECT_EQ(parsed["groups"]["tp"]["2"]["rows"], 1);
  EXPECT_TRUE(parsed["groups"]["tp"]["16"]["mape"].is_null());
}

}  // namespace
