// What Vega is handed for a chart by itself; tests/cli/plot_test.cpp has it drawn.
// SPDX-License-Identifier: Apache-2.0
#include "reports/html/drawing.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "reports/html/assets.h"
#include "reports/html/charts.h"
#include "tests/reports/sample.h"

namespace {

using reports::Json;
using reports::html::Chart;
using reports::html::Drawn;

Json requested(const Chart& chart) { return drawing_request(chart, {}, Drawn::svg); }

std::vector<Chart> charts_of_a_step() {
  using namespace reports::html;
  const result::Prediction p = sample::prediction();
  const trace::Trace trace = sample::trace();
  const result::Topology topology{"2 x dgx-h100",
                                  2,
                                  2,
                                  {"stage", "tp"},
                                  {{0, 0, 0, {0, 0}}, {8, 1, 0, {1, 1}}},
                                  {{"rail leaves", 0, 0, 1, 1}},
                                  {{"nic up", "dp", 1e9, 50e9, 0.25}}};
  return {step_chart(p),          gpu_use_chart(trace), memory_chart(p),          memory_time_chart(p, trace),
          communication_chart(p), link_chart(topology), topology_chart(topology), interval_chart(p)};
}

TEST(Drawing, TheStepsPartsAreItsRows) {
  // 7.5 + 1 + 0.5 + 0.75 + 0.25 s are five parts that take time, each from where the one before ends; then the step.
  const Json rows = requested(reports::html::step_chart(sample::prediction()))["content"]["data"]["rows"];
  ASSERT_EQ(rows.size(), 6u);
  EXPECT_EQ(rows[0]["label"], "compute");
  EXPECT_EQ(rows[0]["value"], 7.5);
  EXPECT_EQ(rows[1]["kind"], "tp");
  EXPECT_EQ(rows[1]["start"], 7.5);
  EXPECT_EQ(rows[2]["start"], 8.5);
  EXPECT_EQ(rows[5]["label"], "step");
  EXPECT_EQ(rows[5]["value"], 10);
}

TEST(Drawing, SignalsAndDataSetsAreThoseOfTheSpecification) {
  for (const Chart& chart : charts_of_a_step()) {
    ASSERT_FALSE(chart.table.rows.empty()) << chart.specification;
    const Json request = requested(chart);
    std::set<std::string> signals, sets;
    for (const Json& signal : request["specification"]["signals"]) signals.insert(signal["name"].get<std::string>());
    for (const Json& set : request["specification"]["data"]) sets.insert(set["name"].get<std::string>());
    for (const auto& [name, value] : request["content"]["signals"].items()) {
      // What is said of an axis for others is no signal of every chart.
      EXPECT_TRUE(signals.contains(name) || name.starts_with("x_")) << chart.specification << ": " << name;
    }
    for (const auto& [name, rows] : request["content"]["data"].items()) {
      EXPECT_TRUE(sets.contains(name)) << chart.specification << ": " << name;
    }
  }
}

TEST(Drawing, ItsLookIsToldAndTheThemesAreThere) {
  const Json request =
      drawing_request(reports::html::step_chart(sample::prediction()), {480, true, false}, Drawn::vega);
  EXPECT_EQ(request["width"], 480);
  EXPECT_EQ(request["theme"], "dark");
  EXPECT_EQ(request["background"], "none");
  EXPECT_EQ(request["form"], "vega");
  const std::string style = request["style"];
  EXPECT_NE(style.find(":root {"), style.npos);
  EXPECT_NE(style.find(":root[data-theme=\"dark\"] {"), style.npos);
}

TEST(Drawing, AChartIsDescribedToThoseWhoDoNotSeeIt) {
  const Chart chart = reports::html::memory_chart(sample::prediction());
  EXPECT_EQ(requested(chart)["description"], chart.title + " " + chart.description);
}

TEST(Drawing, TheProgramEndsWithWhatIsDrawnAndAHostileNameStaysText) {
  if (!reports::html::has_vega()) GTEST_SKIP() << "this build has no Vega";
  result::Prediction p = sample::prediction();
  p.stages[0].categories[0].first = "\"});process.exit(9);//";
  const std::string program = drawing_program(reports::html::memory_chart(p), {}, Drawn::svg);
  const std::size_t call = program.rfind("\ndrawn(");
  ASSERT_NE(call, program.npos);
  const std::string request = program.substr(call + 7, program.size() - call - 7 - 3);  // without ");\n"
  EXPECT_EQ(Json::parse(request)["content"]["data"]["rows"][0]["kind"], "\"});process.exit(9);//");
}

}  // namespace
