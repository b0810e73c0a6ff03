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

TEST(Columns, ColoursTakeNone) { EXPECT_EQ(reports::columns("\033[31mred\033[0m"), 3); }

TEST(Paragraph, AWordLongerThanTheLineIsBrokenBehindAMarkOrAnywhere) {
  const std::string path(60, 'x'), name(50, 'y');
  EXPECT_EQ(reports::paragraph("- ", "a " + path + '/' + name), "- a\n  " + path + "/\n  " + name + '\n');
  const std::string word(150, 'x');
  EXPECT_EQ(reports::paragraph("- ", word), "- " + std::string(98, 'x') + "\n  " + std::string(52, 'x') + '\n');
}

TEST(Paragraph, BeginsBelowAFirstThatLeavesLessThanThirtyColumns) {
  // 30 beside 30 are 60; one column more does not leave enough, unless the text needs less.
  const std::string first(30, 'f'), text = "some words that need more than thirty columns";
  EXPECT_EQ(reports::paragraph(first, text, 60),
            first + "some words that need more than\n" + std::string(30, ' ') + "thirty columns\n");
  EXPECT_EQ(reports::paragraph(first, text, 59), first + "\n      " + text + '\n');
  EXPECT_EQ(reports::paragraph(first, "short", 59), first + "short\n");
}

}  // namespace
