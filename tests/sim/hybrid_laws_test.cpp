// tests/sim/hybrid_laws_test.cpp -- what HSDP sends through a NIC, against FSDP, by formula; experts among it.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "tests/core/plan/walk.h"

namespace {

/// Two nodes of 8; one dtype everywhere, one microbatch, parameters that need no padding.
spec::Job job(int shard, int ep = 0) {
  return toy::job({.dp = 16, .zero = 3}, [&](spec::Job& j) {
    j.strategy.shard = shard;
    j.training.gradient_dtype = spec::Dtype::bf16;
    if (ep == 0) return;
    j.model.moe = spec::Moe{.experts = 16, .top_k = 2, .ffn = 256};
    j.strategy.ep = ep;
  });
}

/// Bytes that a rank's share of the rings sends across nodes: a ring of n ranks that crosses d nodes carries (n - 1)/n
/// of a gather or scatter over each hop, twice that of an all-reduce; d of its n hops cross, so each of the n/d ranks a
/// node sends a (d/n)-th of it on average.
double across_nodes(const spec::Job& j) {
  const plan::Plan p = plan::build(j);
  double sum = 0;
  walk::operators(p, p.roles[0], [&](const plan::Call&, const plan::Operator& op) {
    const plan::Collective* work = walk::collective(p, op);
    if (!work || op.channel < 0 || p.channels[op.channel].kind != plan::Channel::Kind::group) return;
    if (work->kind == plan::CollectiveKind::all_to_all || work->group.domains == 1) return;
    const double n = work->group.size, passes = work->kind == plan::CollectiveKind::all_reduce ? 2 : 1;
    sum += passes * static_cast<double>(work->bytes) * (n - 1) / n * work->group.domains / n;
  });
  return sum;
}

double parameters(const spec::Job& j) { return static_cast<double>(walk::parameters(j, plan::build(j).roles[0])); }

TEST(HybridSharding, SendsAThirdOfWhatFullShardingSendsThroughANic) {
  // P parameters of 2 bytes, 16 ranks on 2 nodes. FSDP: P gathered, all but what stays (the last block and the root, K)
  // gathered again, P scattered, each 15/16 of it over 2 hops of 16. HSDP: an all-reduce of P/8 over 2 ranks, 2 x 1/2
  // of it from each.
  const spec::Job full = job(0), hybrid = job(8);
  const plan::Context c(full);
  const double all = parameters(full);
  const double kept = static_cast<double>(plan::embedding_parameters(c) + plan::head_parameters(c) +
                                          plan::layer_parameters(c, c.model.layers - 1).total());
  EXPECT_NEAR(across_nodes(full), 2 * (3 * all - kept) * 15 / 16 * 2 / 16, 1e-3 * all);
  EXPECT_NEAR(across_nodes(hybrid), 2 * all / 8, 1e-3 * all);
}

TEST(HybridSharding, KeepsTheParametersOfExpertsInsideANode) {
  // With one rank an expert group experts are sharded as all else; with 4 the 4 holders of an expert are 2 a node.
  for (const int ep : {1, 4}) {
    const plan::Plan p = plan::build(job(8, ep));
    const auto shape = [&](plan::Axis axis) { return p.axes[axis].size; };
    EXPECT_EQ(shape(plan::Axis::expert_shard), 8 / ep);
    EXPECT_EQ(shape(plan::Axis::expert_replicate), 2);
    int gathers = 0, sums = 0;
    walk::operators(p, p.roles[0], [&](const plan::Call&, const plan::Operator& op) {
      const plan::Collective* work = walk::collective(p, op);
      if (!work || op.channel < 0) return;
      const plan::Channel& channel = p.channels[op.channel];
      if (channel.kind != plan::Channel::Kind::group) return;
      EXPECT_NE(channel.axis, plan::Axis::expert_dp);
      const bool inside = channel.axis == plan::Axis::expert_shard;
      EXPECT_TRUE(!inside || work->group.domains == 1);
      gathers += inside && work->kind == plan::CollectiveKind::all_gather;
      sums += channel.axis == plan::Axis::expert_replicate;
    });
    EXPECT_GT(gathers, 0);
    EXPECT_GT(sums, 0);
  }
}

TEST(HybridSharding, SumsExpertsThatAShardGroupHoldsOnceOverAllTheirHolders) {
  // Groups of 4 ranks over 8 experts groups of 2 holders: nothing is left to shard, gradients are summed over both.
  const spec::Job j = job(4, 8);
  const plan::Plan p = plan::build(j);
  EXPECT_EQ(p.axes[plan::Axis::expert_shard].size, 1);
  EXPECT_EQ(p.axes[plan::Axis::expert_replicate].size, 2);
  const plan::Context c(j);
  std::int64_t experts = 0, summed = 0;
  for (int i = 0; i < j.model.layers; ++i) experts += plan::layer_parameters(c, i).experts;
  walk::operators(p, p.roles[0], [&](const plan::Call&, const plan::Operator& op) {
    const plan::Collective* work = walk::collective(p, op);
    if (work && op.channel >= 0 && p.channels[op.channel].axis == plan::Axis::expert_replicate) summed += work->bytes;
  });
  EXPECT_EQ(summed, 2 * experts);
}

}  // namespace
