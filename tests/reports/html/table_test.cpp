// SPDX-License-Identifier: Apache-2.0
#include "reports/html/table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "reports/html/chart.h"

namespace {

using namespace reports::html;
using reports::Json;

Table sample() {
  Table table{"Caption <1>", {{"label", "Name"}, {"time", "Time", true}, {"place", "place", true, false}}, {}};
  table.rows = {{text("<a>"), quantity(0.0123, "s"), count(1)}, {text("b"), none(), count(2)}};
  return table;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

TEST(HtmlTable, CellsShowUnitsAndSortByTheirNumbers) {
  const std::string html = html_of(sample());
  EXPECT_TRUE(has(html, R"(<td class="number" data-value="0.0123">12.3 ms</td>)")) << html;
}

TEST(HtmlTable, IsATableToAScreenReader) {
  const std::string html = html_of(sample());
  EXPECT_TRUE(has(html, "<caption>Caption &lt;1&gt;</caption>"));
  EXPECT_TRUE(has(html, R"(<th scope="col">Name</th><th scope="col" class="number">Time</th>)"));
  EXPECT_TRUE(has(html, R"(<th scope="row">&lt;a&gt;</th>)"));
}

TEST(HtmlTable, ColumnsForTheChartAloneAreNotShown) { EXPECT_FALSE(has(html_of(sample()), "place")); }

TEST(HtmlTable, HeadsThatSortAreButtons) {
  EXPECT_TRUE(has(html_of(sample(), true), R"(<table class="sortable">)"));
  EXPECT_TRUE(has(html_of(sample(), true), R"(<th scope="col"><button type="button">Name</button></th>)"));
  EXPECT_FALSE(has(html_of(sample()), "<button"));
}

TEST(HtmlTable, AChartHasEveryColumnOfTheSameRows) {
  const Json expected =
      Json::parse(R"([{"label": "<a>", "time": 0.0123, "time_text": "12.3 ms", "place": 1.0, "place_text": "1"},
                                        {"label": "b", "time": null, "place": 2.0, "place_text": "2"}])");
  EXPECT_EQ(rows_of(sample()), expected);
}

TEST(HtmlTable, WhatIsNoNumberIsNotKnownToAChart) {
  Table table{"c", {{"time", "Time", true}}, {{quantity(std::numeric_limits<double>::infinity(), "s")}}};
  EXPECT_TRUE(rows_of(table)[0]["time"].is_null());
}

TEST(HtmlChart, WithoutRowsThereIsNone) { EXPECT_EQ(figure({"bars", "Title", "What.", {"c", {{"a", "A"}}, {}}}), ""); }

TEST(HtmlChart, IsAFigureWithItsDataAndItsTable) {
  const std::string html = figure({"bars", "Title <", "What.", sample(), {{"x_title", "</script>"}}});
  EXPECT_TRUE(has(html, R"(<figure class="chart" data-chart="bars">)"));
  EXPECT_TRUE(has(html, R"(role="img" aria-label="Title &lt;: What.")"));
  EXPECT_TRUE(has(html, R"("x_title":"\u003c/script>")"));
  EXPECT_TRUE(has(html, "<details>"));
}

TEST(HtmlChart, ATableThatThePageHasInFullIsNotRepeated) {
  Chart chart{"bars", "Title", "What.", sample()};
  chart.told_elsewhere = true;
  EXPECT_FALSE(has(figure(chart), "<details>"));
}

}  // namespace
