// tests/core/plan/group_shape_test.cpp -- shapes of groups against a plain count over all ranks.
// SPDX-License-Identifier: Apache-2.0
#include "core/plan/group_shape.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

namespace {

spec::Cluster cluster(int gpus, int domain, spec::Switch via = spec::Switch::nvswitch) {
  spec::Cluster c;
  c.node.gpus = gpus;
  c.node.nvlink.domain = domain;
  c.node.nvlink.via = via;
  return c;
}

/// Without the layout, which the tests at the end look at.
template <class Shape>
Shape bare(Shape shape) {
  shape.layout = {};
  return shape;
}

std::vector<std::vector<int>> groups_of(int stride, int size, int total) {
  std::vector<std::vector<int>> groups;
  for (int first = 0; first < total; ++first) {
    if (first / stride % size != 0) continue;  // not the first of its group
    std::vector<int> group;
    for (int i = 0; i < size; ++i) group.push_back(first + i * stride);
    if (group.back() < total) groups.push_back(group);
  }
  return groups;
}

struct Counted {
  int parts = 1, fewest = 0, sharing = 0;
};

// Every rank of every group, part by part.
Counted counted(int stride, int size, int part, int total) {
  Counted worst{1, size, 0};
  std::map<int, int> groups_in_part;
  for (const auto& group : groups_of(stride, size, total)) {
    std::map<int, int> members;
    for (int r : group) ++members[r / part];
    if (members.size() == 1) continue;
    worst.parts = std::max(worst.parts, static_cast<int>(members.size()));
    for (auto [p, n] : members) {
      worst.fewest = std::min(worst.fewest, n);
      worst.sharing = std::max(worst.sharing, ++groups_in_part[p]);
    }
  }
  return worst;
}

plan::GroupShape oracle(int stride, int size, const spec::Cluster& c, int total) {
  if (size == 1) return {};
  const bool linked = c.node.nvlink.via != spec::Switch::none;
  const int island = linked ? std::max(c.node.gpus, c.node.nvlink.domain) : c.node.gpus;
  const Counted islands = counted(stride, size, island, total);
  if (islands.parts > 1) return {size, islands.fewest, islands.parts, islands.sharing};
  if (linked && c.node.nvlink.domain < c.node.gpus) {
    const Counted pieces = counted(stride, size, c.node.nvlink.domain, total);
    if (pieces.parts > 1) return {size, pieces.fewest, pieces.parts, 0};
  }
  return {size, size, 1, 1};
}

plan::Transfer stage_oracle(int stride, const spec::Cluster& c, int total) {
  const bool linked = c.node.nvlink.via != spec::Switch::none;
  const int island = linked ? std::max(c.node.gpus, c.node.nvlink.domain) : c.node.gpus;
  std::map<int, int> leaving;
  bool crosses_piece = false;
  for (int r = 0; r + stride < total; ++r) {
    if (r / island != (r + stride) / island) ++leaving[r / island];
    crosses_piece |= linked && r / c.node.nvlink.domain != (r + stride) / c.node.nvlink.domain;
  }
  int most = 0;
  for (auto [i, n] : leaving) most = std::max(most, n);
  if (most > 0) return {0, true, most};
  return crosses_piece && c.node.nvlink.domain < c.node.gpus ? plan::Transfer{0, true, 0} : plan::Transfer{};
}

TEST(GroupShape, TensorParallelOfEightFillsANode) {
  EXPECT_EQ(bare(plan::group_shape(1, 8, cluster(8, 8), 32)), (plan::GroupShape{8, 8, 1, 1}));
}

TEST(GroupShape, DataParallelBesideTensorParallelHasOneMemberANode) {
  // tp 8 dp 4 on 4 nodes: ranks 0 8 16 24; each of a node's 8 GPUs belongs to another group.
  EXPECT_EQ(bare(plan::group_shape(8, 4, cluster(8, 8), 32)), (plan::GroupShape{4, 1, 4, 8}));
}

TEST(GroupShape, DataParallelBesideNarrowTensorParallelHasSeveralMembersANode) {
  // tp 2 dp 16 on 4 nodes: ranks 0 2 4 ... 30: 4 a node; two groups share each node.
  EXPECT_EQ(bare(plan::group_shape(2, 16, cluster(8, 8), 32)), (plan::GroupShape{16, 4, 4, 2}));
}

TEST(GroupShape, ARackWideDomainHoldsGroupsThatSpanItsHosts) {
  // Hosts of 4 GPUs, domain of 72: 16 consecutive ranks sit on 4 hosts of one rack.
  EXPECT_EQ(bare(plan::group_shape(1, 8, cluster(4, 72), 144)), (plan::GroupShape{8, 8, 1, 1}));
  // dp of stride 8 over two racks: 9 members in each, 8 groups share its NICs.
  EXPECT_EQ(bare(plan::group_shape(8, 18, cluster(4, 72), 144)), (plan::GroupShape{18, 9, 2, 8}));
}

TEST(GroupShape, BridgedPairsMeetOverPcieWithoutNics) {
  EXPECT_EQ(bare(plan::group_shape(1, 2, cluster(8, 2, spec::Switch::mesh), 8)), (plan::GroupShape{2, 2, 1, 1}));
  EXPECT_EQ(bare(plan::group_shape(1, 4, cluster(8, 2, spec::Switch::mesh), 8)), (plan::GroupShape{4, 2, 2, 0}));
  EXPECT_EQ(bare(plan::group_shape(4, 2, cluster(8, 2, spec::Switch::mesh), 8)), (plan::GroupShape{2, 1, 2, 0}));
}

TEST(GroupShape, WithoutNvlinkTheNodeIsTheDomain) {
  EXPECT_EQ(bare(plan::group_shape(1, 8, cluster(8, 1, spec::Switch::none), 8)), (plan::GroupShape{8, 8, 1, 1}));
}

TEST(GroupShape, UnequalGroupsAreToldByTheWorst) {
  // Groups of 6 on nodes of 8: ranks 6..11 have 2 on the first node and 4 on the second.
  EXPECT_EQ(bare(plan::group_shape(1, 6, cluster(8, 8), 24)), (plan::GroupShape{6, 2, 2, 2}));
}

TEST(GroupShape, AgreesWithACountOverAllRanks) {
  std::mt19937 random(7);
  const auto pick = [&](std::initializer_list<int> of) { return *(of.begin() + random() % of.size()); };
  int crossing = 0;
  for (int i = 0; i < 4000; ++i) {
    const int gpus = pick({1, 2, 4, 8, 8, 16, 6});
    const auto via = pick({0, 1, 2}) == 0 ? spec::Switch::none : spec::Switch::nvswitch;
    const spec::Cluster c = cluster(gpus, pick({1, 2, 4, 8, 72, gpus}), via);
    const int stride = pick({1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 72});
    const int size = pick({1, 2, 3, 4, 5, 6, 8, 9, 16, 18, 32});
    int total = stride * size * pick({1, 1, 2, 3, 8});
    if (i % 4 == 0) {  // an end cut off
      total = std::max(stride * (size - 1) + 1, total - static_cast<int>(random() % stride));
    }
    const plan::GroupShape is = bare(plan::group_shape(stride, size, c, total)), want = oracle(stride, size, c, total);
    ASSERT_EQ(is, want) << "stride " << stride << " size " << size << " gpus " << gpus << " domain "
                        << c.node.nvlink.domain << " total " << total << ": " << is.per_domain << " " << is.domains
                        << " " << is.sharing << ", not " << want.per_domain << " " << want.domains << " "
                        << want.sharing;
    crossing += want.domains > 1;
    ASSERT_EQ(bare(plan::stage_hop(stride, c, total)), stage_oracle(stride, c, total)) << stride << " " << total;
  }
  EXPECT_GT(crossing, 1000);
}

TEST(StageHop, StagesOfWholeNodesSendFromEveryGpu) {
  // tp 8 pp 4: rank r sends to r + 8, all 8 GPUs of a node at once.
  EXPECT_EQ(bare(plan::stage_hop(8, cluster(8, 8), 32)), (plan::Transfer{0, true, 8}));
}

TEST(StageHop, OnlyTheLastStageOfANodeCrosses) {
  // tp 2 pp 8 on 2 nodes: ranks 6 and 7 send to 8 and 9.
  EXPECT_EQ(bare(plan::stage_hop(2, cluster(8, 8), 16)), (plan::Transfer{0, true, 2}));
  EXPECT_EQ(bare(plan::stage_hop(2, cluster(8, 8), 8)), (plan::Transfer{0, false, 1}));
}

TEST(StageHop, BetweenTwoStagesOfANodeStaysInIt) {
  // tp 2 pp 8 on 2 nodes of 8: stages 0 to 3 and 4 to 7 share a node.
  const plan::Transfer any = plan::stage_hop(2, 8, cluster(8, 8), 16);
  for (int stage = 1; stage < 8; ++stage) {
    EXPECT_EQ(plan::stage_hop_between(stage - 1, stage, any, 2, 8, cluster(8, 8), 16).crosses_domain, stage == 4);
  }
  EXPECT_TRUE(plan::stage_hop_between(7, 0, any, 2, 8, cluster(8, 8), 16).crosses_domain);  // round the ring
  // Bridged pairs of a node of 8: stages of 1 rank reach their pair over its bridge, the others over PCIe, no card.
  const spec::Cluster pairs = cluster(8, 2, spec::Switch::mesh);
  const plan::Transfer hop = plan::stage_hop(1, 8, pairs, 8);
  EXPECT_EQ(bare(plan::stage_hop_between(0, 1, hop, 1, 8, pairs, 8)), (plan::Transfer{0, false, 1}));
  EXPECT_EQ(bare(plan::stage_hop_between(1, 2, hop, 1, 8, pairs, 8)), (plan::Transfer{0, true, 0}));
}

TEST(StageHop, BetweenTwoStagesAgreesWithACountOverTheirRanks) {
  std::mt19937 random(11);
  const auto pick = [&](std::initializer_list<int> of) { return *(of.begin() + random() % of.size()); };
  int inside = 0;
  for (int i = 0; i < 4000; ++i) {
    const spec::Cluster c = cluster(pick({1, 2, 4, 6, 8, 16}), pick({1, 2, 4, 8, 72}), spec::Switch::nvswitch);
    const int stride = pick({1, 2, 3, 4, 6, 8, 12}), stages = pick({2, 3, 4, 8, 16}),
              total = stride * stages * pick({1, 2, 3, 8});
    const plan::Transfer any = plan::stage_hop(stride, stages, c, total);
    const int from = static_cast<int>(random() % stages), to = (from + 1) % stages;
    bool crosses = false;
    for (int rank = 0; rank < total; ++rank) {
      if (rank / stride % stages != from) continue;
      const int other = rank + (to - from) * stride;
      crosses |= rank / c.node.island() != other / c.node.island();
    }
    const plan::Transfer is = plan::stage_hop_between(from, to, any, stride, stages, c, total);
    const bool over_cards = is.crosses_domain && is.sharing > 0;  // not between bridged pairs of a node
    ASSERT_EQ(over_cards, crosses) << stride << ' ' << stages << ' ' << total;
    inside += any.crosses_domain && !is.crosses_domain;
  }
  EXPECT_GT(inside, 300);
}

TEST(MirrorShape, PairsOfAStageCrossWhereTheirOwnRanksDo) {
  // 8 stages of 2 ranks on two nodes of 8: stages 0 to 3 on one, 4 to 7 on the other. Every mirrored pair crosses, and
  // all 8 ranks of a node leave it together.
  for (int stage = 0; stage < 4; ++stage) {
    const plan::GroupShape pair = plan::mirror_shape(stage, 2, 8, cluster(8, 8), 16);
    EXPECT_EQ(pair.domains, 2) << stage;
    EXPECT_EQ(pair.sharing, 8) << stage;
    EXPECT_EQ(pair.layout, (plan::Layout{2 * (7 - 2 * stage), 2, 16, 16, 2 * stage}));
  }
  // 4 stages of 4 ranks: the inner pair, stages 1 and 2, sits on ranks 4 to 7 and 8 to 11.
  EXPECT_EQ(plan::mirror_shape(1, 4, 4, cluster(8, 8), 16).domains, 2);
  // 4 stages of 2 ranks in each node stay inside.
  EXPECT_EQ(plan::mirror_shape(0, 2, 4, cluster(8, 8), 16).domains, 1);
  // 4 stages of 1 rank on nodes of 3: ranks 0 and 3 are on two nodes, 1 and 2 on one.
  EXPECT_EQ(plan::mirror_shape(0, 1, 4, cluster(3, 3), 12).domains, 2);
  EXPECT_EQ(plan::mirror_shape(1, 1, 4, cluster(3, 3), 12).domains, 2);  // not so in the next node: ranks 5 and 6
}

TEST(StageHop, NeighboursOfOneCardShareItAloneOrNot) {
  // 8 GPUs and 4 cards: ranks 6 and 7, which leave a node together, have one card between them, as if all 8 left by
  // all 4. A rank alone has its card to itself (4 cards for 4). With a card for each GPU nothing is shared.
  spec::Cluster four = cluster(8, 8);
  four.node.nic.count = 4;
  EXPECT_EQ(plan::stage_hop(2, four, 16).sharing, 8);
  EXPECT_EQ(plan::stage_hop(2, 8, four, 32).sharing, 8);
  EXPECT_EQ(plan::ends_shape(2, 8, four, 16).sharing, 8);
  EXPECT_EQ(plan::stage_hop(1, four, 16).sharing, 4);
  EXPECT_EQ(plan::stage_hop(8, four, 32).sharing, 8);
  four.node.nic.count = 8;
  EXPECT_EQ(plan::stage_hop(2, four, 16).sharing, 2);
  EXPECT_EQ(plan::ends_shape(2, 8, four, 16).sharing, 2);
}

/// The most that leave one part of `part` ranks together, each way: senders are the first `senders` ranks of each
/// block, their partners `reach` on. Of ranks that share cards as many as if all cards were as full as the fullest.
int most_leaving(int reach, int senders, int block, int part, int total, const spec::Node& node) {
  const int cards = node.nic.count < node.gpus ? node.nic.count : 0;
  std::map<int, int> sent, received;
  std::map<std::pair<int, int>, int> sent_by, received_by;  // part and card
  for (int rank = 0; rank + reach < total; ++rank) {
    const int to = rank + reach;
    if (rank % block >= senders || rank / part == to / part) continue;
    const auto card = [&](int r) { return std::pair(r / part, r % node.gpus * cards / node.gpus); };
    ++sent[rank / part];
    ++received[to / part];
    ++sent_by[card(rank)];
    ++received_by[card(to)];
  }
  int most = 0;
  for (const auto& ways : {sent, received}) {
    for (auto [at, n] : ways) most = std::max(most, n);
  }
  for (const auto& ways : {sent_by, received_by}) {
    for (auto [at, n] : ways) most = std::max(most, n * cards * (node.island() / node.gpus));
  }
  return most;
}

TEST(StageHop, AndPairsOfEndsAgreeWithACountOverAllRanks) {
  std::mt19937 random(17);
  const auto pick = [&](std::initializer_list<int> of) { return *(of.begin() + random() % of.size()); };
  int shared = 0;
  for (int i = 0; i < 3000; ++i) {
    spec::Cluster c = cluster(pick({1, 2, 3, 4, 8, 16}), pick({1, 2, 4, 8, 72}));
    c.node.nic.count = pick({1, 2, 4, 8, 16});
    const int stride = pick({1, 2, 3, 4, 6, 8, 12, 32, 48}), stages = pick({2, 3, 4, 8}), block = stride * stages,
              total = block * pick({2, 3, 5, 8}), part = c.node.island();
    const plan::Transfer hop = plan::stage_hop(stride, stages, c, total);
    const int hops = most_leaving(stride, block - stride, block, part, total, c.node);
    ASSERT_EQ(hop.crosses_domain && hop.sharing > 0 ? hop.sharing : 0, hops) << stride << ' ' << stages << ' ' << total;
    const plan::GroupShape ends = plan::ends_shape(stride, stages, c, total);
    const int pairs = most_leaving(block - stride, stride, block, part, total, c.node);
    ASSERT_EQ(ends.domains > 1 ? ends.sharing : 0, pairs) << stride << ' ' << stages << ' ' << total;
    shared += pairs > 0 && c.node.nic.count < c.node.gpus;
  }
  EXPECT_GT(shared, 300);
}

TEST(Layout, TellsWhichRanksAreGroups) {
  // tp 8 dp 4: groups start at ranks 0 to 7 of a block of 32. Pipeline of 4 inside blocks of 32: all but the last 8
  // ranks of a block send; first and last stage pair up 24 ranks apart.
  EXPECT_EQ(plan::group_shape(8, 4, cluster(8, 8), 64).layout, (plan::Layout{8, 8, 32, 64}));
  EXPECT_EQ(plan::stage_hop(8, 4, cluster(8, 8), 64).layout, (plan::Layout{8, 24, 32, 64}));
  EXPECT_EQ(plan::ends_shape(8, 4, cluster(8, 8), 64).layout, (plan::Layout{24, 8, 32, 64}));
  EXPECT_EQ(plan::group_shape(1, 1, cluster(8, 8), 64).layout, plan::Layout{});
}

}  // namespace
