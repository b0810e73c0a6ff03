// SPDX-License-Identifier: Apache-2.0
#include "reports/comparison.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/reports/sample.h"

namespace {

using Status = result::ComparisonRow::Status;

/// tp 4 fits, tp 2 needs 90 GB of 80 (47 of them activations), tp 3 is refused.
result::Comparison three() {
  result::Comparison c;
  c.rows = {{Status::fits, "a.yaml", {{"strategy.tp", "4"}}, sample::prediction(), ""},
            {Status::does_not_fit, "a.yaml", {{"strategy.tp", "2"}}, sample::too_large(), ""},
            {Status::refused, "a.yaml", {{"strategy.tp", "3"}}, {}, "strategy.tp: 32 heads, said \"no\""}};
  return c;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

TEST(ComparisonText, TellsWhatFitsThenWhyTheOthersDoNot) {
  const std::string text = reports::text(three());
  const std::size_t fits = text.find("tp 4"), large = text.find("tp 2"), refused = text.find("tp 3");
  EXPECT_LT(fits, large);
  EXPECT_LT(large, refused);
  EXPECT_TRUE(contains(text, "tp 2  needs 90.0 GB of 80.0 GB on stage 0, 47.0 GB of it activations")) << text;
  EXPECT_TRUE(contains(text, "tp 3  strategy.tp: 32 heads, said \"no\"")) << text;
  EXPECT_TRUE(contains(text, "by step time")) << text;
}

TEST(ComparisonText, SeveralJobsAreNamed) {
  result::Comparison c = three();
  EXPECT_FALSE(contains(reports::text(c), "a.yaml"));
  c.rows[1].job = "b.yaml";
  const std::string text = reports::text(c);
  EXPECT_TRUE(contains(text, "a.yaml: tp 4")) << text;
  EXPECT_TRUE(contains(text, "b.yaml: tp 2")) << text;
}

TEST(ComparisonText, PathsThatEndAlikeAreToldWhole) {
  result::Comparison c = three();
  c.rows.resize(1);
  c.rows[0].varied = {{"strategy.overlap.tp", "wgrad"}, {"strategy.tp", "4"}, {"strategy.pp", "2"}};
  const std::string text = reports::text(c, {120, false});
  EXPECT_TRUE(contains(text, "strategy.overlap.tp wgrad, strategy.tp 4, pp 2")) << text;
}

TEST(ComparisonText, SaysThatNothingFits) {
  result::Comparison c = three();
  c.rows.erase(c.rows.begin());
  EXPECT_TRUE(reports::text(c).starts_with("Nothing fits.\n"));
}

TEST(ComparisonText, GpusHaveAColumnWhereTheyDiffer) {
  result::Comparison c = three();
  c.order = result::Comparison::Order::tokens_per_gpu;
  EXPECT_FALSE(contains(reports::text(c), "GPUs"));
  EXPECT_TRUE(contains(reports::text(c), "(the steps differ in tokens)\n")) << reports::text(c);
  c.rows[1] = c.rows[0];
  c.rows[1].prediction.gpus = 1024;
  EXPECT_TRUE(reports::text(c).starts_with("Best first, by tokens per second and GPU (they differ in GPUs)\n"))
      << reports::text(c);
  EXPECT_TRUE(contains(reports::text(c), "   GPUs ")) << reports::text(c);
  EXPECT_TRUE(contains(reports::text(c), "  1,024 ")) << reports::text(c);
}

TEST(ComparisonMarkdown, GpusHaveAColumnWhereTheyDiffer) {
  result::Comparison c = three();
  c.rows[1].prediction.gpus = 8;
  const std::string text = reports::markdown(c);
  EXPECT_TRUE(text.starts_with("| job | GPUs | step | against the best | ")) << text;
  EXPECT_TRUE(contains(text, "\n|---|---|---|---|---|---|---|---|---|\n| tp 4 | 16 | 10.0 s | ")) << text;
  EXPECT_TRUE(contains(text, "| tp 3 | | refused: ")) << text;
}

TEST(ComparisonCsv, OneLineForEachRowAndAsManyCellsInEach) {
  result::Comparison c = three();
  c.rows[2].varied.emplace_back("strategy.recompute", "{kind: full, layers: 2}");
  EXPECT_EQ(reports::csv(c),
            "status,job,strategy.tp,strategy.recompute,gpus,step_time_s,tokens_per_s,tokens_per_s_per_gpu,mfu,bubble_"
            "fraction,"
            "peak_bytes,capacity_bytes,reason,exposed_s,slowdown,time_per_output_token_s\r\n"
            "fits,a.yaml,4,,16,10,104857.6,6553.6,0.4,0.075,60000000000,80000000000,,1.5,1,\r\n"
            "does_not_fit,a.yaml,2,,16,10,104857.6,6553.6,0.4,0.075,90000000000,80000000000,activations,1.5,1,\r\n"
            "refused,a.yaml,3,\"{kind: full, layers: 2}\",,,,,,,,,\"strategy.tp: 32 heads, said \"\"no\"\"\",,,\r\n");
}

TEST(ComparisonMarkdown, HasARowForEachJobAndNamesWhatIsRefused) {
  // The sample exposes tp, pp and dp for some seconds of its ten; the peaks are 60 and 90 GB.
  double exposed = 0;
  for (const auto& [name, seconds] : sample::prediction().breakdown_s) {
    if (name.starts_with("exposed_")) exposed += seconds;
  }
  ASSERT_GT(exposed, 0);
  const std::string text = reports::markdown(three());
  EXPECT_TRUE(
      contains(text, fmt::format("| tp 4 | 10.0 s | 1.000 | 6,554 | {:.1f} % | 7.5 % | 60.0 GB | ", exposed * 10)))
      << text;
  EXPECT_TRUE(contains(text, "90.0 GB, does not fit")) << text;
  EXPECT_TRUE(contains(text, "| tp 3 | refused: strategy.tp: 32 heads, said \"no\" |")) << text;
}

TEST(ComparisonJson, CarriesEveryRow) {
  const auto json = nlohmann::json::parse(reports::json(three()));
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["order"], "step_time_s");
  ASSERT_EQ(json["rows"].size(), 3u);
  EXPECT_EQ(json["rows"][0]["status"], "fits");
  EXPECT_EQ(json["rows"][0]["varied"]["strategy.tp"], "4");
  EXPECT_EQ(json["rows"][0]["step_time_s"], 10);
  EXPECT_EQ(json["rows"][1]["attack"], "activations");
  EXPECT_EQ(json["rows"][2]["refusal"], "strategy.tp: 32 heads, said \"no\"");
  EXPECT_FALSE(json["rows"][2].contains("step_time_s"));
}

}  // namespace
