// tests/core/config/messages_fabric_test.cpp -- kinds of fabric: what is read, and what is told of wrong ones.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/config/fabric_reader.h"

namespace {

using config::Faults;
using Kind = spec::Fabric::Kind;

spec::Fabric read(const std::string& text, Faults& faults) {
  return config::read_fabric(config::parse(text, "f.yaml"), "fabric", faults);
}

std::string message(const std::string& text) {
  Faults faults;
  read(text, faults);
  std::string out;
  for (const base::Fault& fault : faults) out += base::to_string(fault) + "\n";
  return out;
}

TEST(FabricReader, ReadsTiersGroupsAndShapes) {
  Faults faults;
  const spec::Fabric tree = read(
      "{kind: fat_tree, hop_latency: 1us, leaf_nodes: 4, oversubscription: 2, upper_tiers: [{nodes: 16, "
      "oversubscription: 3}, {nodes: 64, oversubscription: 1}]}",
      faults);
  ASSERT_EQ(tree.upper_tiers.size(), 2u);
  EXPECT_EQ(tree.upper_tiers[0].nodes, 16);
  EXPECT_EQ(tree.upper_tiers[0].oversubscription, 3);
  const spec::Fabric dragonfly = read(
      "{kind: dragonfly, hop_latency: 1us, leaf_nodes: 4, group: {nodes: 32, oversubscription: 1}, groups: 8, routing: "
      "minimal}",
      faults);
  EXPECT_EQ(dragonfly.upper_tiers.at(0).nodes, 32);
  EXPECT_EQ(dragonfly.routing, spec::Fabric::Routing::minimal);
  const spec::Fabric torus = read("{kind: torus, hop_latency: 1us, shape: [4, 8], link: 50GB/s}", faults);
  EXPECT_EQ(torus.shape, (std::vector<int>{4, 8}));
  EXPECT_EQ(torus.link.si(), 50e9);
  EXPECT_TRUE(faults.empty());
}

TEST(FabricReader, ATierHoldsWholeSwitchesOfTheOneBelow) {
  EXPECT_EQ(
      message("{kind: fat_tree, hop_latency: 1us, leaf_nodes: 4, upper_tiers: [{nodes: 10, oversubscription: 1}]}"),
      "f.yaml:1:64: error: fabric.upper_tiers: 10 nodes are no multiple of the 4 of a switch below\n"
      "  mend: write a multiple, such as 32\n");
  EXPECT_EQ(message("{kind: fat_tree, hop_latency: 1us, upper_tiers: [{nodes: 10, oversubscription: 1}]}"),
            "f.yaml:1:1: error: fabric.leaf_nodes: is missing, and 'upper_tiers' lies above the leaves\n"
            "  mend: write how many nodes are below one leaf\n");
}

TEST(FabricReader, EachKindHasItsKeys) {
  EXPECT_EQ(message("{kind: torus, hop_latency: 1us, shape: [4], link: 50GB/s}"),
            "f.yaml:1:40: error: fabric.shape: has 1 dimensions\n"
            "  mend: write two or three, such as [8, 8] or [4, 4, 4] nodes\n");
  EXPECT_EQ(message("{kind: dragonfly, hop_latency: 1us, leaf_nodes: 4}"),
            "f.yaml:1:1: error: fabric.group: is missing\n"
            "  mend: write the nodes of a group: {nodes: 64, oversubscription: 1}\n");
  EXPECT_NE(message("{kind: single_switch, hop_latency: 1us, shape: [4, 4]}").find("fabric.shape: unknown key"),
            std::string::npos);
}

}  // namespace
