// tests/core/config/messages_outages_test.cpp -- links, cards and places that are not there, or whose loss leaves no
// way. SPDX-License-Identifier: Apache-2.0
#include "tests/core/config/messages.h"

namespace {

using config::testing::SmallCatalogue;

class OutageMessages : public ::testing::Test {
 protected:
  /// About a Job of 4 nodes with these lines at its end.
  std::string of(const std::string& simulation, const std::string& network = "",
                 const std::string& cluster = "fabric: {base: flat, kind: fat_tree, leaf_nodes: 2}") {
    return small_.message("model: small\ncluster: {node: box-8, nodes: 4, " + cluster +
                          "}\ntraining: {sequence: 1024, global_batch: 64}\nnetwork: {" + network + "}\nsimulation: {" +
                          simulation + "}");
  }
  static constexpr const char* kFlow = "fidelity: flow";
  SmallCatalogue small_;
};

TEST_F(OutageMessages, AreReadIntoPlaces) {
  const spec::Job job = small_.read(
      "model: small\ncluster: {node: box-8, nodes: 4, hosts: [0, 2, 5, 3], fabric: {base: flat, kind: fat_tree, "
      "leaf_nodes: 2, nodes: 6, routing: ecmp}}\ntraining: {sequence: 1024, global_batch: 64}\n"
      "network: {fidelity: flow}\nsimulation: {seed: 9, slow_links: [{node: 1, card: 2, factor: 1.5}, {leaf: 1, "
      "factor: 4}], dead_links: [{leaf: 0}], lost_nics: [{node: 3, count: 2}, {node: 2}]}\n");
  EXPECT_EQ(job.cluster.hosts, (std::vector<int>{0, 2, 5, 3}));
  EXPECT_EQ(job.cluster.fabric.routing, spec::Fabric::Routing::ecmp);
  EXPECT_EQ(job.simulation.seed, 9u);
  const std::vector<spec::LinkFault>& slow = job.simulation.slow_links;
  ASSERT_EQ(slow.size(), 2u);
  EXPECT_EQ(slow[0].node, 1);
  EXPECT_EQ(slow[0].card, 2);
  EXPECT_EQ(slow[1].tier, 0);
  EXPECT_EQ(slow[1].at, 1);
  EXPECT_EQ(slow[1].count, 0);  // all uplinks of the leaf
  ASSERT_EQ(job.simulation.dead_links.size(), 1u);
  EXPECT_TRUE(job.simulation.dead_links[0].dead());
  EXPECT_EQ(job.simulation.dead_links[0].count, 1);  // one of them
  ASSERT_EQ(job.simulation.lost_nics.size(), 2u);
  EXPECT_EQ(job.simulation.lost_nics[0].count, 2);
  EXPECT_EQ(job.simulation.lost_nics[1].count, 1);
}

TEST_F(OutageMessages, ADeadLinkWithoutAnotherWayIsRefused) {
  EXPECT_EQ(of("lost_nics: [{node: 3, count: 8}]"),
            "job.yaml:5:25: error: simulation.lost_nics: node 3 has no card left, and nothing else joins it to the "
            "others\n  mend: leave it at least one of its 8 cards, or leave the node out");
  EXPECT_EQ(of("dead_links: [{node: 1}]"),
            "job.yaml:5:26: error: simulation.dead_links: node 1 has no card left, and nothing else joins it to the "
            "others\n  mend: leave it at least one of its 8 cards, or leave the node out");
  EXPECT_EQ(of("dead_links: [{leaf: 0, uplinks: 9}, {leaf: 0, uplinks: 7}]", kFlow),
            "job.yaml:5:26: error: simulation.dead_links: leaf 0 has no uplink left, and nothing else joins it\n"
            "  mend: write a count below 16");
}

TEST_F(OutageMessages, TheClosedFormRefusesWhatItCannotPrice) {
  EXPECT_EQ(of("slow_links: [{leaf: 0, factor: 2}]"),
            "job.yaml:5:26: error: simulation.slow_links: the closed form does not know which groups cross a link of "
            "the fabric\n  mend: write network.fidelity: flow, or name a node's cards: {node: 0}");
  EXPECT_EQ(of("", "", "fabric: {base: flat, kind: fat_tree, leaf_nodes: 2, routing: ecmp}"),
            "job.yaml:2:95: error: cluster.fabric.routing: the closed form knows no single uplinks that flows could be "
            "hashed to\n  mend: write network.fidelity: flow, or routing: spray");
  EXPECT_EQ(
      of("", "", "hosts: [3, 2, 1, 0], fabric: {base: flat, kind: torus, shape: [2, 2], link: 10GB/s}"),
      "job.yaml:2:41: error: cluster.hosts: the closed form takes the nodes of this fabric to stand side by side\n"
      "  mend: write network.fidelity: flow");
  EXPECT_EQ(of("", "", "hosts: [3, 2, 1, 0]"), "no fault");
}

TEST_F(OutageMessages, PlacesMustExist) {
  EXPECT_EQ(of("slow_links: [{node: 4, factor: 2}]"),
            "job.yaml:5:26: error: simulation.slow_links: node 4 does not exist\n  mend: nodes go from 0 to 3");
  EXPECT_EQ(of("dead_links: [{node: 1, card: 8}]"),
            "job.yaml:5:26: error: simulation.dead_links: node 1 has no card 8\n  mend: cards are 0 to 7");
  EXPECT_EQ(of("slow_links: [{leaf: 2, factor: 2}]", kFlow),
            "job.yaml:5:26: error: simulation.slow_links: leaf 2 does not exist\n  mend: they are 0 to 1");
  EXPECT_EQ(of("slow_links: [{tier: 1, switch: 0, factor: 2}]", kFlow),
            "job.yaml:5:26: error: simulation.slow_links: the fabric has no tier 1 of switches\n"
            "  mend: write {leaf: 0}; tiers from 1 on are the fabric's upper_tiers");
  EXPECT_EQ(of("slow_links: [{groups: [0, 1], factor: 2}]", kFlow),
            "job.yaml:5:26: error: simulation.slow_links: no link between two groups is told apart in this fabric\n"
            "  mend: name a switch's uplinks: {leaf: 0}, or a dragonfly with routing: minimal");
  EXPECT_EQ(of("slow_links: [{node: 0, leaf: 0, factor: 2}]", kFlow),
            "job.yaml:5:34: error: simulation.slow_links[0].node: stands beside another place\n"
            "  mend: name one place: node (with card), leaf (with rail), tier with switch, or groups");
  EXPECT_EQ(of("slow_links: [3]"),
            "job.yaml:5:27: error: simulation.slow_links[0]: '3' is not a map\n  mend: write {node: 0, factor: 1.2}");
  EXPECT_EQ(of("", kFlow, "hosts: [0, 1, 1, 4]"),
            "job.yaml:2:41: error: cluster.hosts: place 1 is taken twice\n  mend: name each place once\n"
            "job.yaml:2:41: error: cluster.hosts: place 4 does not exist\n"
            "  mend: places go from 0 to 3; cluster.fabric.nodes says how many a larger fabric has");
  EXPECT_EQ(of("", kFlow, "hosts: [0, 1]"),
            "job.yaml:2:41: error: cluster.hosts: names 2 places for 4 nodes\n"
            "  mend: write one place in the fabric for each node");
}

}  // namespace
