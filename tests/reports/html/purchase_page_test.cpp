// tests/reports/html/purchase_page_test.cpp -- what the page of a purchase plan holds.
// SPDX-License-Identifier: Apache-2.0
#include "reports/html/purchase_page.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "tests/reports/purchase_sample.h"

namespace {

using result::Flip;
using result::Purchase;
using result::PurchaseRow;

/// The same with strategies, counts and losses; d fits nowhere, e is refused.
Purchase sample() {
  Purchase p = sample::purchase();
  for (PurchaseRow& row : p.rows) {
    row.nodes = 4;
    row.gpus = 32;
    row.strategy = {{"tp", "4"}};
    row.on_front = row.in_time;
    row.goodput.lost = 0.03;
    row.goodput.down = 0.02;
  }
  p.rows.resize(5);
  p.rows[3].candidate = "d";
  p.rows[4].candidate = "e";
  p.rows[4].refused = "strategy.tp: 3 does not divide 32 heads";
  p.flips = {{Flip::Kind::rent, "h100-sxm", true, 4, 8, "b"}, {Flip::Kind::budget, "", true, 2e6, 0, ""}};
  p.spine = {2, 1.1, "a"};
  p.break_even = {{"dgx-h100", 2.5, 270e3, 14314, 30660}};
  p.figures = {{"rent of h100-sxm", "$5.00/h", "2026-11-20", "an offer"}, {"spares", "1", "", "the plan"}};
  p.assumptions = {"sequence 8192"};
  p.runs = 2000;
  p.seed = 1;
  return p;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

/// The page without what is the same in every page.
std::string main_of(const Purchase& p) {
  std::ostringstream out;
  reports::write_html(p, "1.2.3", out);
  const std::string page = out.str();
  const std::size_t begin = page.find("<main"), end = page.find("</main>");
  return page.substr(begin, end - begin);
}

/// From the first place that holds `head` to the end of its element's row.
std::string row_of(const std::string& page, const std::string& head) {
  const std::size_t begin = page.find("<th scope=\"row\">" + head + "</th>", page.find("id=\"candidates\""));
  return page.substr(begin, page.find("</tr>", begin) - begin);
}

TEST(HtmlPurchase, TheAnswerIsOneSentenceWithBothIntervalsAndTheRisk) {
  EXPECT_TRUE(has(main_of(sample()),
                  "<p class=\"lead\">Take a: 40.0 days (80 % interval 36.0 to 44.0 days) for $3.00M (80 % interval "
                  "$2.70M to $3.30M), the cheapest of 2 that finish within 60.0 days in nine runs of ten, of 5 "
                  "candidates; 99.4 % of runs end within 60.0 days.</p>"));
}

TEST(HtmlPurchase, EverySectionIsThere) {
  const std::string page = main_of(sample());
  for (const char* id :
       {"why", "flips", "days-cost", "candidates", "break-even", "strategies", "failures", "figures", "assumptions"}) {
    EXPECT_TRUE(has(page, std::string("<section id=\"") + id + "\"")) << id;
  }
  for (const char* chart : {"days_cost", "flips", "stacked"}) {
    EXPECT_TRUE(has(page, std::string("data-chart=\"") + chart + "\"")) << chart;
  }
}

TEST(HtmlPurchase, EachCandidateHasARowAndItsVerdict) {
  const std::string page = main_of(sample());
  EXPECT_TRUE(has(row_of(page, "a"), "<td class=\"good\">recommended</td>"));
  EXPECT_TRUE(has(row_of(page, "b"), "<td>will do</td>"));
  EXPECT_TRUE(has(row_of(page, "c"), "<td class=\"bad\">too late</td>"));
  EXPECT_TRUE(has(row_of(page, "d"), "<td class=\"bad\">no strategy fits</td>"));
  EXPECT_TRUE(has(row_of(page, "e"), "3 does not divide 32 heads"));
  EXPECT_TRUE(has(row_of(page, "a"), "data-value=\"44"));  // sorts by the later end
  EXPECT_TRUE(has(row_of(page, "a"), ">36.0 to 44.0</td>"));
}

TEST(HtmlPurchase, TheChartHasIntervalsBothWaysAndTheFrontByTime) {
  // Of the front b takes 20 days and a 40; c is on none, d and e have no figures.
  const std::string page = main_of(sample());
  EXPECT_TRUE(has(page, R"("front":[{"days":20.0,"cost":4000000.0},{"days":40.0,"cost":3000000.0}])"));
  EXPECT_TRUE(has(page, R"("days_low":36.0,"days_low_text":"36.0 days","days_high":44.0)"));
  EXPECT_TRUE(has(page, R"("cost_low":2700000.0,"cost_low_text":"$2.70M","cost_high":3300000.0)"));
  EXPECT_TRUE(has(page, R"("deadline":60.0)"));
}

TEST(HtmlPurchase, ALimitFarBeyondTheCandidatesIsNotDrawn) {
  // c may take 110 days: 165 are still drawn, 166 are not.
  Purchase p = sample();
  p.deadline_s = 165 * base::kDay;
  EXPECT_TRUE(has(main_of(p), R"("deadline":165.0)"));
  p.deadline_s = 166 * base::kDay;
  EXPECT_TRUE(has(main_of(p), R"("deadline":0.0)"));
}

TEST(HtmlPurchase, AFlipTellsItsDistance) {
  // $4 an hour against $8 now: half of it. The budget has no value now, and so no distance.
  const std::string page = main_of(sample());
  EXPECT_TRUE(has(page, "\"label\":\"rent of h100-sxm below $4.00/h\",\"value\":-0.5"));
  EXPECT_TRUE(has(page, "<th scope=\"row\">budget</th><td>below</td>"));
  EXPECT_TRUE(has(page, "With uplinks of every fabric halved (2:1): a still (its step takes 10 % longer)."));
}

TEST(HtmlPurchase, EveryFigureHasItsDateAndSource) {
  const std::string page = main_of(sample());
  EXPECT_TRUE(has(page, "<th scope=\"row\">rent of h100-sxm</th><td>$5.00/h</td><td>2026-11-20</td><td>an offer</td>"));
  EXPECT_TRUE(has(page, "<th scope=\"row\">spares</th><td>1</td><td>–</td><td>the plan</td>"));
  EXPECT_TRUE(has(page, "<li>sequence 8192</li>"));
}

TEST(HtmlPurchase, WhereNoneWillDoThePageSaysSo) {
  Purchase p = sample();
  for (PurchaseRow& one : p.rows) one.in_time = false;
  p.recommended = p.runner_up = std::nullopt;
  p.flips = {};
  p.spine = {};
  const std::string page = main_of(p);
  EXPECT_TRUE(has(page, "class=\"answer bad\""));
  EXPECT_TRUE(has(page, "None: no candidate will finish within 60.0 days in nine runs of ten. The soonest, b,"));
  EXPECT_FALSE(has(page, "<section id=\"flips\""));
}

TEST(HtmlPurchase, WhereNothingFitsThereIsNoChart) {
  Purchase p = sample();
  for (PurchaseRow& one : p.rows) one.fits = false;
  p.recommended = p.runner_up = std::nullopt;
  const std::string page = main_of(p);
  EXPECT_FALSE(has(page, "data-chart=\"days_cost\""));
  EXPECT_FALSE(has(page, "<section id=\"failures\""));
  EXPECT_TRUE(has(page, "<section id=\"candidates\""));
}

TEST(HtmlPurchase, AHostileNameIsText) {
  Purchase p = sample();
  p.model = p.rows[0].candidate = p.flips[0].winner = p.figures[0].source = p.assumptions[0] = "<script>x</script>";
  const std::string page = main_of(p);
  EXPECT_FALSE(has(page, "<script>x"));
  EXPECT_TRUE(has(page, "&lt;script&gt;x&lt;/script&gt;"));
}

}  // namespace
