// SPDX-License-Identifier: Apache-2.0
#include "reports/text.h"

#include <gtest/gtest.h>

#include <sstream>

#include "reports/layout.h"
#include "tests/reports/sample.h"
#include "tests/reports/view.h"

namespace {

using testing_support::expect_view;

TEST(Summary, OfAStepThatFitsIsGolden) {
  expect_view("predict_fits.txt", [](const reports::Style& s) { return reports::summary(sample::prediction(), s); });
}

TEST(Summary, OfAStepThatDoesNotFitIsGolden) {
  expect_view("predict_too_large.txt",
              [](const reports::Style& s) { return reports::summary(sample::too_large(), s); });
}

TEST(Summary, NoLineIsWiderThanAHundredColumns) {
  result::Prediction p = sample::too_large();
  for (int i = 0; i < 30; ++i) {
    p.warnings.push_back(std::string(i, 'w') +
                         " and words that go on and on until the line is far too long for a terminal "
                         "of a hundred columns");
  }
  std::istringstream lines(reports::summary(p));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(reports::columns(line), 100) << line;
}

TEST(Summary, ShowsEveryBreakdownEntryThatIsNotZero) {
  // exposed_cp is 0 in the sample; the five others are the whole step.
  const std::string text = reports::summary(sample::prediction());
  for (const char* name : {"compute", "exposed tp", "exposed dp", "bubble", "optimizer"}) {
    EXPECT_NE(text.find(std::string("\n  ") + name + " "), text.npos) << name;
  }
  EXPECT_EQ(text.find("exposed cp"), text.npos);
}

TEST(Summary, HoldsEachStageAgainstItsOwnGpus) {
  // 60 of 80 GB on the one kind of node, 40 of 160 on the other.
  result::Prediction p = sample::prediction();
  p.stages[1].capacity_bytes = 160'000'000'000;
  const std::string text = reports::summary(p);
  EXPECT_NE(text.find("Memory of one GPU, of 80.0 GB to 160 GB\n"), text.npos) << text;
  EXPECT_NE(text.find("60.0 GB   75.0 %"), text.npos) << text;
  EXPECT_NE(text.find("40.0 GB   25.0 %"), text.npos) << text;
}

TEST(Summary, TellsNoRangeOfSizesThatReadTheSame) {
  result::Prediction p = sample::prediction();
  p.stages[1].capacity_bytes += 1'000'000;
  const std::string text = reports::summary(p);
  EXPECT_NE(text.find("Memory of one GPU, of 80.0 GB\n"), text.npos) << text;
}

TEST(Summary, OfManyStagesShowsTheFullestTwelve) {
  result::Prediction p = sample::prediction();
  const result::StageMemory one = p.stages[1];
  p.stages.assign(20, one);
  for (int i = 0; i < 20; ++i) {
    p.stages[i].stage = i;
    p.stages[i].peak_bytes = (i + 1) * 1'000'000'000LL;
  }
  const std::string text = reports::summary(p);
  EXPECT_EQ(text.find("stage 7 "), text.npos);  // 8 GB: the 13th from above
  EXPECT_NE(text.find("stage 8 "), text.npos);  // 9 GB: the 12th
  EXPECT_NE(text.find("and 8 stages that hold less"), text.npos);
}

TEST(Summary, TellsThePrecisionsOwnMfuOnlyWhereItDiffers) {
  result::Prediction p = sample::prediction();
  EXPECT_EQ(reports::summary(p).find("precision's own"), std::string::npos);
  p.mfu_of_precision = 0.2;  // fp8 has twice the peak
  EXPECT_NE(reports::summary(p).find("MFU 40.0 % of the bf16 peak, 20.0 % of the precision's own"), std::string::npos);
}

TEST(Summary, OfAnEmptyPredictionIsStillText) { EXPECT_FALSE(reports::summary({}).empty()); }

}  // namespace
