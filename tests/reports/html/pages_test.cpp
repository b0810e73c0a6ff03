// What every page must hold, whatever the browser makes of it (tests/browser looks at that).
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "reports/html/assets.h"
#include "reports/html/comparison_page.h"
#include "reports/html/prediction_page.h"
#include "reports/html/search_page.h"
#include "reports/html/trade_off.h"
#include "reports/html/validation_page.h"
#include "tests/reports/sample.h"

namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) ++found;
  return found;
}
bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

std::string predicted(const result::Prediction& p) {
  const trace::Trace trace = sample::trace();
  result::Topology topology{"2 x dgx-h100, rail-400g",
                            2,
                            2,
                            {"stage", "tp"},
                            {{0, 0, 0, {0, 0}}, {8, 1, 0, {1, 1}}},
                            {{"rail leaves", 0, 0, 1, 1}},
                            {{"nic up", "dp", 1e9, 50e9, 0.25}}};
  result::Sensitivity sensitivity;
  sensitivity.step_time_s = 10;
  sensitivity.effects = {{"gpu.hbm", "B/s", 3e12, -0.5, -0.5, -0.5, true, 9.5, "datasheet", "the sheet", "", 0}};
  std::ostringstream out;
  reports::write_html({&p, {{"predicted", &trace}}, {}, &sensitivity, &topology, "1.2.3"}, out);
  return out.str();
}

/// The page without what is the same in every page.
std::string main_of(const std::string& page) {
  const std::size_t begin = page.find("<main"), end = page.find("</main>");
  return page.substr(begin, end - begin);
}

TEST(HtmlPages, APredictionHasAllItsSections) {
  const std::string page = main_of(predicted(sample::prediction()));
  for (const char* id : {"answer", "time", "timeline", "gpu-use", "memory", "communication", "topology", "sensitivity",
                         "interval", "sources"}) {
    EXPECT_TRUE(has(page, std::string("<section id=\"") + id + "\"")) << id;
  }
  for (const char* chart : {"waterfall", "stacked", "memory_time", "bars", "topology", "tornado"}) {
    EXPECT_TRUE(has(page, std::string("data-chart=\"") + chart + "\"")) << chart;
  }
  EXPECT_TRUE(has(
      page,
      "One training step takes 10.0 s (80 % interval 9.50 s to 10.8 s) on 16 GPUs: 104,858 tokens/s at 40.0 % MFU."));
  EXPECT_FALSE(has(page, "id=\"mend\""));
}

TEST(HtmlPages, WhatDoesNotFitSaysSoAndHowToMendIt) {
  const std::string page = main_of(predicted(sample::too_large()));
  EXPECT_TRUE(has(page, "But it does not fit: a GPU needs 90.0 GB of its 80.0 GB."));
  EXPECT_TRUE(has(page, "<li>--recompute selective"));
}

TEST(HtmlPages, WhatIsNotGivenIsLeftOut) {
  const result::Prediction p = sample::prediction();
  std::ostringstream out;
  reports::write_html({&p, {}, {}, nullptr, nullptr, "1.2.3"}, out);
  const std::string page = main_of(out.str());
  for (const char* id : {"timeline", "gpu-use", "topology", "sensitivity"}) {
    EXPECT_FALSE(has(page, std::string("<section id=\"") + id + "\"")) << id;
  }
  EXPECT_TRUE(has(page, "<section id=\"time\""));
}

TEST(HtmlPages, NothingIsFetched) {
  std::string page = predicted(sample::prediction());
  EXPECT_TRUE(has(page, "default-src 'none'"));
  for (const reports::html::Asset& asset : reports::html::assets()) {  // Vega draws gradients as url(#...)
    if (asset.name == "vega.js") page.erase(page.find(asset.text), asset.text.size());
  }
  for (const char* tag : {"<link", "<img", "<iframe", "src=\"", "@import", "url(", "sourceMappingURL"}) {
    EXPECT_FALSE(has(page, tag)) << tag;
  }
}

TEST(HtmlPages, EveryScriptEndsWhereItShould) {
  // A chart's or the timeline's data, a style or Vega itself that held "</script" would end its element early.
  const std::string page = predicted(sample::prediction());
  EXPECT_EQ(count(page, "<script"), count(page, "</script>"));
  for (const reports::html::Asset& asset : reports::html::assets()) {
    EXPECT_FALSE(has(std::string(asset.text), "</script")) << asset.name;
  }
}

TEST(HtmlPages, AHostileNameIsText) {
  result::Prediction p = sample::prediction();
  p.job = p.warnings[0] = p.assumptions[0] = p.provenance[0].source = p.stages[0].peak_operator = "<script>x</script>";
  const std::string honest = predicted(sample::prediction()), hostile = predicted(p);
  EXPECT_EQ(count(hostile, "<script"), count(honest, "<script"));
  EXPECT_EQ(count(hostile, "&lt;script&gt;x&lt;/script&gt;"), 6u);  // the title, too
}

TEST(HtmlPages, TheSameAnswerGivesTheSamePage) {
  EXPECT_EQ(predicted(sample::prediction()), predicted(sample::prediction()));
}

TEST(HtmlPages, AComparisonTellsEveryRowAndWhatIsRefused) {
  result::Comparison c;
  c.rows = {{result::ComparisonRow::Status::fits, "", {{"strategy.tp", "8"}}, sample::prediction(), ""},
            {result::ComparisonRow::Status::does_not_fit, "", {{"strategy.tp", "16"}}, sample::too_large(), ""},
            {result::ComparisonRow::Status::refused,
             "",
             {{"strategy.tp", "3"}},
             {},
             "strategy.tp: 3 does not divide 32 heads"}};
  std::ostringstream out;
  reports::write_html(c, "1.2.3", out);
  const std::string page = main_of(out.str());
  EXPECT_TRUE(has(page, "tp 8 is best: a step takes 10.0 s (80 % interval 9.50 s to 10.8 s). 1 of 3 jobs fit."));
  EXPECT_TRUE(has(page, "3 does not divide 32 heads"));
  EXPECT_TRUE(has(page, "needs 90.0 GB of 80.0 GB"));
  EXPECT_TRUE(has(page, "data-chart=\"pareto\""));
  // tp is a column of its own that sorts as numbers: 8 before 16.
  EXPECT_TRUE(has(page, "<td class=\"number\" data-value=\"16\">16</td>"));
}

TEST(HtmlPages, ASearchTellsItsResultsAndWhatItLookedAt) {
  result::Search s;
  s.job = "llama3-8b on 2 x dgx-h100";
  s.by = "step_time";
  s.evaluated = s.strategies = 1234;
  const result::Choices one{{"tp", "4"}, {"pp", "2"}}, other{{"tp", "8"}, {"pp", "2"}};
  s.results = {{one, sample::prediction(), 10, false, 0.5, 0}, {other, sample::prediction(), 10, true, 0.5, 0}};
  s.pareto = {{one, 10, 10, 60'000'000'000}, {other, 12, 12, 50'000'000'000}};
  s.space = {{"tp", false, {{"4", 600}, {"8", 634}}}};
  std::ostringstream out;
  reports::write_html(s, "1.2.3", out);
  const std::string page = main_of(out.str());
  EXPECT_TRUE(has(page, "1 more are within the error of it."));
  EXPECT_TRUE(has(page, "<button type=\"button\">tp</button>"));
  EXPECT_FALSE(has(page, "<button type=\"button\">pp</button>"));  // the same in both
  EXPECT_TRUE(has(page, "data-chart=\"pareto\""));
}

TEST(HtmlPages, AValidationTellsEveryCase) {
  result::Validation v;
  result::ValidationCase measured, refused;
  measured.id = "first";
  measured.measured_s = 2;
  measured.predicted_s = 1.5;
  measured.error = -0.25;
  measured.inside = true;
  refused.id = "second";
  refused.error_message = "strategy.ep: 8 is not supported\nand more";
  v.files = {{"papers/one.yaml", {}, {}, {}, {measured, refused}}};
  v.files[0].summary.rows = v.summary.rows = 1;
  v.summary.median_abs_error = v.summary.p90_abs_error = 0.25;
  v.summary.coverage_80 = 1;
  std::ostringstream out;
  reports::write_html(v, {}, "1.2.3", out);
  const std::string page = main_of(out.str());
  EXPECT_TRUE(has(page, "Half of 1 predicted steps are within 25.0 % of the measurement"));
  EXPECT_TRUE(has(page, "data-chart=\"scatter\""));
  EXPECT_TRUE(has(page, "data-chart=\"histogram\""));
  EXPECT_TRUE(has(page, "<td>strategy.ep: 8 is not supported</td>"));
}

TEST(HtmlTradeOff, TheFrontIsWhatNothingThatFitsBeatsInBoth) {
  // b is slower and larger than a; d beats all and does not fit.
  const std::vector<reports::html::TradePoint> points{{"c", "fits", 3, 10},
                                                      {"b", "fits", 2, 40},
                                                      {"a", "fits", 1, 30},
                                                      {"a again", "fits", 1, 30},
                                                      {"d", "does not fit", 0.5, 5, false}};
  std::vector<std::string> front;
  for (const auto& point : reports::html::front_of(points)) front.push_back(point.label);
  EXPECT_EQ(front, (std::vector<std::string>{"a", "c"}));
}

TEST(HtmlTradeOff, WhereNothingFitsAllAreCompared) {
  EXPECT_EQ(reports::html::front_of({{"a", "does not fit", 1, 90, false}, {"b", "does not fit", 2, 80, false}}).size(),
            2u);
}

}  // namespace
