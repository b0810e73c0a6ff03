// SPDX-License-Identifier: Apache-2.0
#include "sim/topology.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <variant>

#include "core/plan/build.h"
#include "core/plan/group_shape.h"
#include "sim/network/link_load.h"
#include "tests/support/toy.h"

namespace {

/// Two nodes of 8 GPUs: tensor parallel inside each, data parallel between them.
spec::Job two_nodes() { return toy::job({.tp = 8, .dp = 2}); }

result::Topology told(const spec::Job& job) { return sim::topology(plan::build(job), job, 1.0); }

const result::LinkLoad* find(const result::Topology& topology, const std::string& link, const std::string& axis) {
  const auto at = std::find_if(topology.links.begin(), topology.links.end(),
                               [&](const auto& load) { return load.link == link && load.axis == axis; });
  return at == topology.links.end() ? nullptr : &*at;
}

/// Of one rank in a step, as nccl-tests counts them.
double payload(const spec::Job& job, plan::Axis axis) {
  const plan::Plan plan = plan::build(job);
  double sum = 0;
  for (const plan::Call& call : plan.roles.front().calls) {
    for (const plan::Operator& op : plan.segments[static_cast<std::size_t>(call.segment)].operators) {
      if (op.channel < 0) continue;
      const plan::Channel& channel = plan.channels[static_cast<std::size_t>(op.channel)];
      const auto* collective = std::get_if<plan::Collective>(&plan.works[static_cast<std::size_t>(op.work)]);
      if (collective && channel.kind == plan::Channel::Kind::group && channel.axis == axis) {
        sum += static_cast<double>(collective->bytes);
      }
    }
  }
  return sum;
}

TEST(Topology, RanksOfOneGroupHaveOneNumber) {
  const result::Topology topology = told(two_nodes());
  EXPECT_EQ(topology.axes, (std::vector<std::string>{"tp", "dp"}));
  ASSERT_EQ(topology.ranks.size(), 16u);
  EXPECT_EQ(topology.ranks[7].groups, (std::vector<int>{0, 7}));
  EXPECT_EQ(topology.ranks[8].groups, (std::vector<int>{1, 0}));
  EXPECT_EQ(topology.ranks[9].node, 1);
  EXPECT_EQ(topology.ranks[9].gpu, 1);
}

TEST(Topology, StagesAreAnAxisOfTheirOwn) {
  const result::Topology topology = told(toy::job({.tp = 2, .pp = 2, .microbatches = 2}));
  EXPECT_EQ(topology.axes, (std::vector<std::string>{"stage", "tp"}));
  EXPECT_EQ(topology.ranks[3].groups, (std::vector<int>{1, 1}));
}

TEST(Topology, OneLeafJoinsAllNodesWhereNothingElseIsSaid) {
  const result::Topology topology = told(two_nodes());
  ASSERT_EQ(topology.joined.size(), 1u);
  EXPECT_EQ(topology.joined[0].first, 0);
  EXPECT_EQ(topology.joined[0].last, 1);
}

TEST(Topology, LeavesOfFewerNodesAreJoinedByACore) {
  spec::Job job = two_nodes();
  job.cluster.fabric.kind = spec::Fabric::Kind::fat_tree;
  job.cluster.fabric.leaf_nodes = 1;
  job.cluster.fabric.oversubscription = 2;
  const result::Topology topology = told(job);
  ASSERT_EQ(topology.joined.size(), 3u);  // two leaves and the core
  EXPECT_EQ(topology.joined[1].first, 1);
  EXPECT_EQ(topology.joined[1].oversubscription, 2);
  EXPECT_EQ(topology.joined[2].tier, 1);
}

TEST(LinkLoad, ARingOfTwoNodesSendsEachGradientOverItsCardOnce) {
  // An all-reduce among 2 sends 2 (2 - 1) / 2 = 1 times its buffer to the neighbour, over the rank's card of 10 GB/s.
  const spec::Job job = two_nodes();
  const result::Topology topology = told(job);
  const result::LinkLoad* load = find(topology, "nic up", "dp");
  ASSERT_NE(load, nullptr);
  EXPECT_GT(load->bytes, 0);
  EXPECT_DOUBLE_EQ(load->bytes, payload(job, plan::Axis::dp));
  EXPECT_DOUBLE_EQ(load->capacity, 10e9);
  EXPECT_DOUBLE_EQ(load->busy, load->bytes / 10e9);  // of a step of 1 s
}

TEST(LinkLoad, OfAnAllToAllEachRankSendsWhatIsForOtherNodesOverItsCard) {
  // 1,600 bytes of a rank to 16, 100 to each: 8 are on the other node. Where only 400 cross, 400 are on the card.
  const spec::Cluster cluster = toy::cluster(16);
  plan::Plan plan;
  plan::Collective exchange{plan::CollectiveKind::all_to_all, 1600, plan::group_shape(1, 16, cluster, 16)};
  plan.works = {exchange};
  plan.channels = {{plan::Channel::Kind::group, plan::Axis::ep}};
  plan.segments = {{"forward", {{.stream = plan::Stream::ep, .channel = 0}}, {}}};
  plan.roles = {{0, 0, 16, {{}}}};
  spec::Job job = toy::job({.tp = 8, .dp = 2});
  job.cluster = cluster;
  const auto on_the_card = [&] {
    for (const result::LinkLoad& load : sim::link_loads(plan, job, 1)) {
      if (load.link == "nic up") return load.bytes;
    }
    return 0.0;
  };
  EXPECT_DOUBLE_EQ(on_the_card(), 800);
  exchange.crossing = 400;
  plan.works = {exchange};
  EXPECT_DOUBLE_EQ(on_the_card(), 400);
}

TEST(LinkLoad, ARingInsideANodeStaysOnNvlink) {
  // All-reduces among 8: 2 (8 - 1) / 8 times the buffer over each GPU's 100 GB/s, and nothing over cards.
  const spec::Job job = two_nodes();
  const result::Topology topology = told(job);
  const result::LinkLoad* load = find(topology, "nvlink up", "tp");
  ASSERT_NE(load, nullptr);
  EXPECT_NEAR(load->bytes, payload(job, plan::Axis::tp) * 14 / 8, 1e-6 * load->bytes);
  EXPECT_EQ(find(topology, "nic up", "tp"), nullptr);
}

}  // namespace
