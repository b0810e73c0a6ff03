// tests/core/config/layer_list_reader_test.cpp
// SPDX-License-Identifier: Apache-2.0
#include "core/config/layer_list_reader.h"

#include <gtest/gtest.h>

#include "core/config/model_reader.h"

namespace {

std::vector<std::string> told(const std::string& operators) {
  config::Faults faults;
  const std::string text = "kind: layers\noperators:\n" + operators;
  config::read_model(config::parse(text, "net.yaml"), "", faults);
  std::vector<std::string> out;
  for (const base::Fault& fault : faults) out.push_back(base::to_string(fault));
  return out;
}
using Told = std::vector<std::string>;

TEST(LayerListReader, ReadsAChainAndABranch) {
  EXPECT_EQ(told("- {name: a, type: convolution, in: 3, out: 8, kernel: 3, padding: 1, size: 16}\n"
                 "- {name: b, type: convolution, in: 8, out: 8, kernel: 1, size: 16}\n"
                 "- {name: c, type: convolution, in: 8, out: 8, kernel: 1, size: 16, reads: a}\n"
                 "- {type: add, channels: 8, size: 16, relu: true}\n"),
            Told{});
}

TEST(LayerListReader, TellsAnInputThatNothingPutsOut) {
  // 8 channels of 16 x 16 = 2048 numbers; 16 of them would be 4096.
  EXPECT_EQ(told("- {name: a, type: convolution, in: 3, out: 8, kernel: 3, padding: 1, size: 16}\n"
                 "- {name: b, type: convolution, in: 16, out: 8, kernel: 1, size: 16}\n"),
            Told{"net.yaml:4:36: error: operators[1].in: takes 4096 numbers of a sample, but a puts out 2048\n"
                 "  mend: mend the shape, or name the operator that it reads: `reads: NAME`"});
}

TEST(LayerListReader, TellsNamesThatAreUnknownOrTwice) {
  EXPECT_EQ(told("- {name: a, type: dense, in: 4, out: 8, reads: b}\n"),
            Told{"net.yaml:3:48: error: operators[0].reads: 'b' is no operator before this one\n"
                 "  mend: write `input` or the name of one above"});
  ASSERT_EQ(told("- {name: a, type: dense, in: 4, out: 8}\n- {name: a, type: dense, in: 8, out: 8}\n").size(), 1u);
}

TEST(LayerListReader, WantsAListAndKnownTypes) {
  EXPECT_EQ(told("  {}\n").size(), 1u);
  EXPECT_EQ(told("- {type: convolutoin, in: 4, out: 8}\n").size(), 1u);
  EXPECT_EQ(told("- {type: convolution, in: 4, out: 8, kernel: 3, groups: 3, padding: 1, size: 8}\n").size(), 1u);
  EXPECT_EQ(told("- {type: convolution, in: 4, out: 8, kernel: 9, size: 8}\n").size(), 1u);
}

}  // namespace
