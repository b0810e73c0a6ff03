// SPDX-License-Identifier: Apache-2.0
#include "reports/layout.h"

#include <gtest/gtest.h>

#include <limits>

namespace {

TEST(Bar, GrowsInEighthsOfACell) {
  EXPECT_EQ(reports::bar(0, 4), "");
  EXPECT_EQ(reports::bar(1.0 / 32, 4), "▏");  // one of 4 x 8 eighths
  EXPECT_EQ(reports::bar(0.5, 4), "██");
  EXPECT_EQ(reports::bar(19.0 / 32, 4), "██▍");
  EXPECT_EQ(reports::bar(1, 4), "████");
}

TEST(Bar, IsBoundedForSharesThatAreNone) {
  EXPECT_EQ(reports::bar(-1, 4), "");
  EXPECT_EQ(reports::bar(7, 4), "████");
  EXPECT_EQ(reports::bar(std::numeric_limits<double>::quiet_NaN(), 4), "");
}

TEST(Gauge, AlwaysFillsItsWidthAndMarksAnOverflow) {
  EXPECT_EQ(reports::gauge(0.5, 4), "██··");
  EXPECT_EQ(reports::gauge(1, 4), "████");
  EXPECT_EQ(reports::gauge(1.01, 4), "████!");
}

TEST(Columns, CountsCodePointsAndNotBytes) {
  EXPECT_EQ(reports::columns("abc"), 3);
  EXPECT_EQ(reports::columns("█·é"), 3);
}

TEST(Paragraph, BreaksBetweenWordsAtTheHundredthColumn) {
  // 4 columns of lead and 96 letters are exactly 100; one letter more moves to the next line.
  const std::string fits = std::string(90, 'x') + " yyyyy";
  EXPECT_EQ(reports::paragraph("  - ", fits), "  - " + fits + '\n');
  EXPECT_EQ(reports::paragraph("  - ", fits + 'y'), "  - " + std::string(90, 'x') + "\n    yyyyyy\n");
}

TEST(Paragraph, AWordLongerThanTheLineStandsAlone) {
  const std::string word(150, 'x');
  EXPECT_EQ(reports::paragraph("- ", "a " + word), "- a\n  " + word + '\n');
}

}  // namespace
