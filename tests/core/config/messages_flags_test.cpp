// tests/core/config/messages_flags_test.cpp -- what users are told of --set, whose place is the flag itself,
// word for word.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "tests/core/config/messages.h"

namespace config::testing {
namespace {

using FlagsMessages = MessageTest;

TEST_F(FlagsMessages, APathThroughANumber) {
  EXPECT_EQ(of_set("training.sequence.tokens", "3"),
            "--set training.sequence.tokens=3: error: training.sequence: a map is not a whole number\n"
            "  mend: write a whole number from 1 to 100000000");
}

TEST_F(FlagsMessages, APathIntoAList) {
  EXPECT_EQ(of_set("strategy.stage_layers.0", "4"),
            "--set strategy.stage_layers.0=4: error: strategy.stage_layers.0: leads into a list\n"
            "  mend: set the whole list, strategy.stage_layers=[...], or an entry of it, strategy.stage_layers[0]");
}

TEST_F(FlagsMessages, APathWithAnEmptyPart) {
  EXPECT_EQ(of_set("strategy..tp", "8"),
            "--set strategy..tp=8: error: strategy..tp: is no path to a field\n"
            "  mend: write the keys with a dot between, such as strategy.tp=8");
}

TEST_F(FlagsMessages, ASectionIsAMap) {
  EXPECT_EQ(of_set("strategy", "8"),
            "--set strategy=8: error: strategy: '8' is not a map\n"
            "  mend: write strategy: {tp: 8, pp: 2}, for example");
}

TEST_F(FlagsMessages, AListLeftOpen) {
  EXPECT_EQ(of_set("strategy.stage_layers", "[12, 12"),
            "--set strategy.stage_layers=[12, 12: error: strategy.stage_layers: a bracket is not closed, or a list "
            "or a map stands where a key belongs\n"
            "  mend: close every bracket, and write a word before each colon");
}

TEST_F(FlagsMessages, AQuoteLeftOpen) {
  EXPECT_EQ(of_set("model", "'small"),
            "--set model='small: error: model: is not YAML: a quote is opened and never closed\n"
            "  mend: close the text with the same quote");
}

TEST_F(FlagsMessages, AnUnknownKey) {
  EXPECT_EQ(of_set("strategy.schedul", "gpipe"),
            "--set strategy.schedul=gpipe: error: strategy.schedul: unknown key\n"
            "  mend: did you mean schedule?");
}

TEST_F(FlagsMessages, AnUnknownSection) {
  EXPECT_EQ(of_set("stratgy.tp", "8"),
            "--set stratgy.tp=8: error: stratgy: unknown key\n"
            "  mend: did you mean strategy?");
}

TEST_F(FlagsMessages, AColonWithoutItsSpace) {
  EXPECT_EQ(of_set("cluster.node", "{base:box-8,gpus:4}"),
            "--set cluster.node={base:box-8,gpus:4}: error: cluster.node: 'base:box-8' has no space behind its colon\n"
            "  mend: write base: box-8");
}

TEST_F(FlagsMessages, AValueTakenBackThatIsNeeded) {
  EXPECT_EQ(of_set("training.sequence", ""),
            "--set training.sequence=: error: training.sequence: has no value\n"
            "  mend: write a value for it");
}

TEST_F(FlagsMessages, AQuantityWithoutItsUnit) {
  EXPECT_EQ(of_set("cluster.node.gpu.memory", "96"),
            "--set cluster.node.gpu.memory=96: error: cluster.node.gpu.memory: '96' has no unit\n"
            "  mend: write a size with its unit, such as 80GB");
}

}  // namespace
}  // namespace config::testing
