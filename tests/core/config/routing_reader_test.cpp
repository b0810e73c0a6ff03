// tests/core/config/routing_reader_test.cpp -- tokens by expert from a list or a file.
// SPDX-License-Identifier: Apache-2.0
#include "core/config/routing_reader.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

namespace {

struct Read {
  std::vector<double> counts;
  bool round_robin = false;
  config::Faults faults;
};

Read read(const std::string& yaml) {
  Read out;
  const config::Value tree = config::parse(yaml, "test");
  config::MapReader map(tree, "strategy", out.faults);
  config::read_routing(map, "moe_routing", out.counts, out.round_robin);
  map.finish();
  return out;
}

TEST(RoutingReader, TakesTheWordForExpertsInTurn) {
  const Read in_turn = read("moe_routing: round_robin");
  EXPECT_TRUE(in_turn.round_robin && in_turn.counts.empty() && in_turn.faults.empty());
  EXPECT_FALSE(read("moe_routing: [812, 790]").round_robin);
}

TEST(RoutingReader, TakesAList) {
  EXPECT_EQ(read("moe_routing: [812, 790.5, 0]").counts, (std::vector<double>{812, 790.5, 0}));
  EXPECT_TRUE(read("moe_routing: [812, 790.5, 0]").faults.empty());
}

TEST(RoutingReader, TakesAFileOfNumbersBetweenCommas) {
  const std::string path = testing::TempDir() + "routing_reader_test.csv";
  std::ofstream(path) << "812, 790\n805,689\n";
  EXPECT_EQ(read("moe_routing: " + path).counts, (std::vector<double>{812, 790, 805, 689}));
}

TEST(RoutingReader, AWordAmongTheCountsIsAFaultThatShowsIt) {
  const Read wrong = read("moe_routing: [812, many]");
  ASSERT_EQ(wrong.faults.size(), 1u);
  EXPECT_EQ(wrong.faults[0].field, "strategy.moe_routing");
  EXPECT_EQ(wrong.faults[0].what, "'many' is no count of tokens");
  EXPECT_TRUE(wrong.counts.empty());
  EXPECT_EQ(read("moe_routing: [812, -1]").faults.size(), 1u);
}

TEST(RoutingReader, AFileThatIsNotThereIsAFault) {
  const Read wrong = read("moe_routing: no/such/file.csv");
  ASSERT_EQ(wrong.faults.size(), 1u);
  EXPECT_EQ(wrong.faults[0].what, "'no/such/file.csv' as a file: cannot be read: No such file or directory");
}

}  // namespace
