// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "reports/html/assets.h"
#include "tests/cli/run_forerun.h"

namespace {

using nlohmann::json;
using testing_support::Answer;
using testing_support::contains;
using testing_support::content_of;
using testing_support::forerun;
using testing_support::ScratchFolder;

/// One layer's worth of model, so that a step takes no time to work out.
const char kJob[] =
    "--model '{layers: 4, hidden: 1024, heads: 8, ffn: 4096, vocab: 8192}' --node dgx-h100 --tp 2 --pp 2 --sequence "
    "1024 "
    "--global-batch 16 --micro-batch 1 ";

bool there_is(const std::string& program) {
  return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) ++found;
  return found;
}

/// forerun where the PATH has these programs alone, as links in the folder.
Answer with_only(const ScratchFolder& folder, const std::vector<std::string>& programs, const std::string& arguments) {
  for (const std::string& program : programs) {
    EXPECT_EQ(std::system(("ln -s \"$(command -v " + program + ")\" '" + (folder / program) + "'").c_str()), 0);
  }
  const std::string command = "PATH='" + (folder / "") + "' '" FORERUN_BINARY "' " + arguments + " >'" +
                              (folder / "out") + "' 2>'" + (folder / "err") + "'";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, content_of(folder / "out"), content_of(folder / "err")};
}

class Plot : public testing::Test {
 protected:
  void SetUp() override {
    if (!reports::html::has_vega()) GTEST_SKIP() << "this build has no Vega";
  }
};

/// Vega itself draws.
class DrawnPlot : public Plot {
 protected:
  void SetUp() override {
    Plot::SetUp();
    if (!IsSkipped() && !there_is("node")) GTEST_SKIP() << "there is no node";
  }
};

TEST_F(Plot, WithoutNodeItNamesThePackageAndWorksNothingOut) {
  const ScratchFolder folder;
  const Answer run = with_only(folder, {}, "plot step no-such-job -o -");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(run.err,
            "error: plot: needs the program node, which has Vega draw charts; it is not on the PATH\n"
            "  mend: install Debian's nodejs (apt-get install nodejs)\n");
}

TEST_F(Plot, WhatNodeComplainsOfIsToldAndNothingIsWritten) {
  const ScratchFolder folder;
  std::ofstream(folder / "node") << "#!/bin/sh\necho 'no such thing' >&2\nexit 1\n";
  std::filesystem::permissions(folder / "node", std::filesystem::perms::owner_all);
  const Answer run = with_only(folder, {}, std::string("plot step ") + kJob + "-o '" + (folder / "step.svg") + "'");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_TRUE(contains(run.err, "error: plot: node failed: no such thing")) << run.err;
  EXPECT_FALSE(std::filesystem::exists(folder / "step.svg"));
}

TEST_F(DrawnPlot, WithoutRsvgConvertThereIsNoPng) {
  const ScratchFolder folder;
  const Answer run = with_only(folder, {"node"}, "plot step no-such-job -o step.png");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.err,
            "error: -o: needs the program rsvg-convert, which makes PNG of SVG; it is not on the PATH\n"
            "  mend: install Debian's librsvg2-bin (apt-get install librsvg2-bin)\n");
}

TEST_F(DrawnPlot, EverySpecificationOfAStepHasMarks) {  // but the waterfall, which the next test counts
  for (const char* chart : {"gpu-use", "memory-time", "communication", "topology", "interval"}) {
    const Answer run = forerun(std::string("plot ") + chart + ' ' + kJob + "-o -");
    ASSERT_EQ(run.exit_code, 0) << chart << run.err;
    EXPECT_TRUE(run.out.starts_with("<svg")) << chart;
    EXPECT_TRUE(run.out.ends_with("</svg>\n")) << chart;
    EXPECT_GT(count(run.out, "<path"), 5u) << chart;
    EXPECT_FALSE(contains(run.out, "NaN")) << chart;
    EXPECT_FALSE(contains(run.out, "undefined")) << chart;
  }
}

TEST_F(DrawnPlot, ARowOfTheTableIsABar) {
  // Vega names what a mark shows: a rectangle a part of the step, and one for the step itself.
  const Answer run = forerun(std::string("plot step ") + kJob + "-o -");
  const json prediction = json::parse(forerun(std::string("predict ") + kJob + "--json -").out);
  std::size_t parts = 1;
  for (const auto& [name, seconds] : prediction["breakdown_s"].items()) parts += seconds.get<double>() > 0;
  const std::size_t bars = run.out.find("mark-rect role-mark");
  ASSERT_NE(bars, run.out.npos) << run.out.substr(0, 2000);
  EXPECT_EQ(count(run.out.substr(bars, run.out.find("</g>", bars) - bars), "<path"), parts);
}

TEST_F(DrawnPlot, ThemeWidthAndBackgroundAreAsAskedFor) {
  const std::string plot = std::string("plot step ") + kJob + "-o - ";
  const std::string light = forerun(plot).out, dark = forerun(plot + "--theme dark --transparent --width 900").out;
  EXPECT_TRUE(contains(light, "width=\"640\"")) << light.substr(0, 300);
  EXPECT_TRUE(contains(dark, "width=\"900\"")) << dark.substr(0, 300);
  const char kLightPaper[] = "#ffffff", kDarkPaper[] = "#12161c", kDarkInk[] = "#e8ecf1";  // of report.css
  EXPECT_TRUE(contains(light, kLightPaper));
  EXPECT_TRUE(contains(dark, kDarkInk));
  EXPECT_FALSE(contains(dark, kDarkPaper));
}

TEST_F(DrawnPlot, TheSpecificationHoldsItsRowsAndIsTheSameEachTime) {
  const ScratchFolder folder;
  const std::string command = std::string("plot memory ") + kJob + "-o " + (folder / "memory.vg.json");
  ASSERT_EQ(forerun(command).exit_code, 0);
  const std::string first = content_of(folder / "memory.vg.json");
  const json specification = json::parse(first);
  EXPECT_EQ(specification["width"], 640);
  ASSERT_FALSE(specification["data"][0]["values"].empty());
  EXPECT_EQ(specification["data"][0]["values"][0]["label"], "stage 0");
  ASSERT_EQ(forerun(command).exit_code, 0);
  EXPECT_EQ(content_of(folder / "memory.vg.json"), first);
}

TEST_F(DrawnPlot, APngHasTwicePixelsForEachOfItsWidth) {
  if (!there_is("rsvg-convert")) GTEST_SKIP() << "there is no rsvg-convert";
  const ScratchFolder folder;
  ASSERT_EQ(forerun(std::string("plot step ") + kJob + "--width 300 -o " + (folder / "step.png")).exit_code, 0);
  const std::string png = content_of(folder / "step.png");
  ASSERT_GT(png.size(), 24u);
  EXPECT_EQ(png.substr(1, 3), "PNG");
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(png[at]); };
  EXPECT_EQ(byte(18) * 256 + byte(19), 600);  // IHDR's width ends there, most significant byte first
}

TEST_F(DrawnPlot, SeveralJobsAreCompared) {
  const Answer run = forerun(std::string("plot comparison ") + kJob + "--vary strategy.zero=0,1 -o -");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(contains(run.out, "zero")) << run.out.substr(0, 500);
}

TEST_F(Plot, WhatAChartDoesNotTakeIsRefusedByName) {
  const Answer run = forerun("plot step a b --vary strategy.tp=1,2 -o x.svg");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.err,
            "error: --vary: does not go with a chart of `forerun predict`\n  mend: leave it out\n"
            "error: b: is one operand too many\n  mend: step shows one job\n");
}

TEST(PlotHelp, SaysOfEachChartWhoseCommandLineItTakes) {
  const std::string help = forerun("plot --help").out;
  for (const char* line : {"\n  step           predict ", "\n  trade-off      compare ", "\n  front          search ",
                           "\n  errors         validate "}) {
    EXPECT_TRUE(contains(help, line)) << line << help;
  }
}

TEST(PlotFaults, AreToldWithTheirMend) {
  EXPECT_EQ(forerun("plot stepp").err, "error: CHART: there is no chart 'stepp'\n  mend: did you mean step?\n");
  EXPECT_EQ(forerun("plot").err, "error: CHART: is missing\n  mend: name a chart; `forerun plot --help` shows all\n");
  EXPECT_EQ(forerun("plot step").err,
            "error: -o: is missing\n  mend: name a file that ends in .svg, .png or .vg.json\n");
  EXPECT_EQ(forerun("plot step -o step.gif").err,
            "error: -o: 'step.gif' names no format that is known\n"
            "  mend: name a file that ends in .svg, .png or .vg.json\n");
  EXPECT_EQ(forerun("plot step -o - --theme blue").err,
            "error: --theme: there is no theme 'blue'\n  mend: write light or dark\n");
}

}  // namespace
