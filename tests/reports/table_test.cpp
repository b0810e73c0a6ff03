// SPDX-License-Identifier: Apache-2.0
#include "reports/table.h"

#include <gtest/gtest.h>

#include "tests/reports/view.h"

namespace {

using reports::Cell;
using reports::Ink;
using reports::Style;
using reports::Table;

/// 2 + 20 + 10 + 10 + (1 + 4) columns as it is wished; 2 + 16 + 5 + 5 + 5 is what it needs.
Table sample() {
  using enum reports::Column::Kind;
  Table table(2, {{"name", text, 20}, {"time", number, 10}, {"rate", number, 10}, {"", drawing, 4}});
  table.add({"the longest name", "12 s", "3 /s", "####"});
  table.add({"b", "3 s", "4 /s", "##"});
  return table;
}

TEST(Table, HasItsColumnsAsWishedWhereThereIsRoom) {
  const char expected[] =
      "  name                      time      rate\n"
      "  the longest name          12 s      3 /s ####\n"
      "  b                          3 s      4 /s ##\n";
  EXPECT_EQ(sample().text({47, false}), expected);
  EXPECT_EQ(sample().text({200, false}), expected);
}

TEST(Table, ANarrowerOneLosesTheRoomBetweenColumns) {
  EXPECT_EQ(sample().text({33, false}),
            "  name             time rate\n"
            "  the longest name 12 s 3 /s ####\n"
            "  b                 3 s 4 /s ##\n");
}

TEST(Table, ThenTextsAreBroken) {
  using enum reports::Column::Kind;
  Table table(0, {{"name", text, 0}, {"time", number, 6}});
  table.add({"a text of thirty-one characters", "1 s"});
  EXPECT_EQ(table.text({26, false}),
            "name                  time\n"
            "a text of thirty-one   1 s\n"
            "characters\n");
}

TEST(Table, ThenDrawingsGo) {
  EXPECT_EQ(sample().text({32, false}),
            "  name             time rate\n"
            "  the longest name 12 s 3 /s\n"
            "  b                 3 s 4 /s\n");
}

TEST(Table, ThenTheLastColumnsStandBelow) {
  EXPECT_EQ(sample().text({24, false}),
            "  name             time\n"
            "       rate\n"
            "  the longest name 12 s\n"
            "       3 /s\n"
            "  b                 3 s\n"
            "       4 /s\n");
}

TEST(Table, AColumnThatStaysGoesBelowWithTheOneBeforeIt) {
  using enum reports::Column::Kind;
  Table table(0, {{"name", text, 0}, {"cost", number, 6}, {"80 %", number, 6, 1, true}});
  table.add({"a name of 19 columns", "1 $", "2 $"});
  EXPECT_EQ(table.text({25, false}),
            "name\n"
            "     cost 80 %\n"
            "a name of 19 columns\n"
            "      1 $  2 $\n");
}

TEST(Table, ATitleAboveMaySpillOverThoseBeforeIt) {
  using enum reports::Column::Kind;
  Table table(0, {{"name", text, 8}, {"predicted", number, 10}, {"measured", number, 10}});
  table.add_above({"", "", "hidden or not"});
  table.add({"matmul", "1 s", "2 s"});
  EXPECT_EQ(table.text({}),
            "               hidden or not\n"
            "name     predicted  measured\n"
            "matmul         1 s       2 s\n");
}

TEST(Table, ColourTakesNoRoom) {
  using enum reports::Column::Kind;
  Table table(0, {{"", text, 4}, {"", number, 6}});
  table.add({"a", {"1 s", Ink::red}});
  EXPECT_EQ(table.text({80, true}), "a      \033[31m1 s\033[0m\n");
}

TEST(Table, LinesBetweenRowsStayAsTheyAre) {
  Table table = sample();
  table.add_lines("   a remark\n");
  EXPECT_TRUE(table.text({40, false}).ends_with("##\n   a remark\n"));
}

/// Whatever the width: no line is wider than the widest single cell needs, and nothing is lost.
TEST(Table, NoWidthLosesANumber) {
  for (int columns = 26; columns < 60; ++columns) {
    const std::string text = sample().text({columns, false});
    EXPECT_LE(testing_support::widest(text), columns) << text;
    EXPECT_EQ(testing_support::numbers(text), testing_support::numbers(sample().text({100, false}))) << text;
  }
}

}  // namespace
