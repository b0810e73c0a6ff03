// tests/sim/mixed_cluster_test.cpp -- clusters of two kinds of node: the slowest member of whatever works together sets
// its pace, and nothing else is slowed. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/explain.h"
#include "sim/predict.h"
#include "tests/sim/random_jobs.h"

namespace {

/// Half of the toy node's speed in everything, and less memory.
spec::Node slow(spec::Node node) {
  node.name = "slow";
  for (base::FlopRate& peak : node.gpu.peak) peak = peak / 2;
  node.gpu.hbm = node.gpu.hbm / 2;
  node.gpu.memory = base::GB(40);
  node.nvlink.bandwidth = node.nvlink.bandwidth / 2;
  node.nic.bandwidth = node.nic.bandwidth / 2;
  return node;
}

/// The last half of the nodes of a job's cluster are slow.
spec::Job half_slow(spec::Job job) {
  spec::Cluster& cluster = job.cluster;
  const int fast = cluster.nodes - cluster.nodes / 2;
  cluster.groups = {{cluster.node, fast}, {slow(cluster.node), cluster.nodes - fast}};
  cluster.node = cluster.groups.back().node;
  return job;
}

spec::Job all_slow(spec::Job job) {
  job.cluster.node = slow(job.cluster.node);
  return job;
}

double step(const spec::Job& job) { return sim::predict(job).prediction.step_time_s; }

TEST(MixedCluster, GroupsOfOneKindAreThePlainCluster) {
  random_jobs::Source source(21);
  for (int n = 0; n < 60; ++n) {
    spec::Job job = source.job();
    job.simulation.unfold = source.coin();
    spec::Job grouped = job;
    grouped.cluster.groups.assign(2, {job.cluster.node, 1});
    grouped.cluster.groups.back().nodes = std::max(1, job.cluster.nodes - 1);
    ASSERT_EQ(step(grouped), step(job)) << random_jobs::text(job);
  }
}

// 2 nodes of 8: 16 ranks, tp 2, so that a data-parallel group of 8 reaches both kinds.
spec::Job over_both() { return toy::job({.tp = 2, .dp = 8, .microbatches = 4}); }

TEST(MixedCluster, AGroupThatSpansBothKindsRunsAsTheSlowest) {
  // Everything of the slow kind is slower, so the bound that folding takes is met.
  const double mixed = step(half_slow(over_both()));
  EXPECT_DOUBLE_EQ(mixed, step(all_slow(over_both())));
  spec::Job unfolded = half_slow(over_both());
  unfolded.simulation.unfold = true;
  EXPECT_DOUBLE_EQ(step(unfolded), mixed);
}

spec::Job pipeline(std::vector<int> layers) {
  return toy::job({.tp = 2, .pp = 2, .dp = 4, .microbatches = 32}, [&](spec::Job& j) {
    j.model.layers = 12;
    j.strategy.stage_layers = std::move(layers);
  });
}

TEST(MixedCluster, AStageOnOneKindRunsAtThatKindsPace) {
  // Stage 0 is fast, stage 1 slow, and the head is worth two thirds of a layer (2048 of vocabulary against 12 x 256).
  // In units of a layer on a fast GPU, 32 microbatches at the pace of the slowest stage and the other stage once:
  // 6 + 6 layers: 32 x 2 x 6.67 + 6 = 433; 8 + 4: 32 x 2 x 4.67 + 8 = 307, of stage 0 less than that.
  const double even = step(half_slow(pipeline({6, 6}))), uneven = step(half_slow(pipeline({8, 4})));
  EXPECT_NEAR(uneven / even, 307.0 / 433, 0.03);
  EXPECT_NEAR(even / step(all_slow(pipeline({6, 6}))), 1, 0.03);
}

TEST(MixedCluster, FoldedIsNeverFasterThanEveryRankByItself) {
  random_jobs::Source source(22);
  for (int n = 0; n < 60; ++n) {
    spec::Job job = source.job();
    if (job.cluster.nodes < 2) continue;
    job = half_slow(std::move(job));
    const double folded = step(job);
    job.simulation.unfold = true;
    ASSERT_LE(step(job), folded * (1 + 1e-9)) << random_jobs::text(job);
  }
}

TEST(MixedCluster, AStageHasTheMemoryOfItsSmallestGpu) {
  const result::Prediction split = sim::predict(half_slow(pipeline({6, 6}))).prediction;
  EXPECT_EQ(split.capacity_bytes, 40'000'000'000);  // the slow stage has less room left
  EXPECT_TRUE(split.warnings.empty() || split.warnings.front().find("several kinds") == std::string::npos);
  const result::Prediction both = sim::predict(half_slow(over_both())).prediction;
  EXPECT_EQ(both.capacity_bytes, 40'000'000'000);
  EXPECT_NE(both.warnings.back().find("stage 0 stands on several kinds of node"), std::string::npos);
}

TEST(MixedCluster, AnOperatorIsHeldAgainstThePeakOfItsOwnStage) {
  // The fast stage computes twice as fast as cluster.node, which is the slow kind. 10 + 2 layers: it rules.
  const result::Explanation e = sim::explain(half_slow(pipeline({10, 2})));
  int matmuls = 0;
  for (const result::PathOperator& op : e.operators) {
    if (op.category == "matmul") ++matmuls;
    EXPECT_LE(op.of_peak, 1 + 1e-9) << op.category << ' ' << op.name;
  }
  EXPECT_GT(matmuls, 0);
  EXPECT_EQ(e.stages.front().name, "0");
}

TEST(MixedCluster, UtilisationIsOfThePeakOfAll) {
  // One half at 1000, the other at 500 TFLOP/s: 750 on average.
  const result::Prediction p = sim::predict(half_slow(over_both())).prediction;
  EXPECT_NEAR(p.mfu, p.model_tflops_per_gpu / 750, 1e-12);
}

TEST(MixedCluster, WhatCannotBeMixedIsRefusedByName) {
  const auto fault = [](auto&& change) {
    spec::Job job = half_slow(over_both());
    change(job);
    const std::vector<base::Fault> faults = spec::check(job);
    return faults.empty() ? std::string() : faults.front().field + ": " + faults.front().what;
  };
  EXPECT_EQ(fault([](spec::Job&) {}), "");
  EXPECT_EQ(fault([](spec::Job& j) { j.cluster.groups[1].node.gpus = 4; }),
            "cluster.node[1]: nodes of 4 GPUs beside nodes of 8 are not supported by this version");
  EXPECT_EQ(fault([](spec::Job& j) { j.cluster.groups[1].node.nvlink.domain = 4; }),
            "cluster.node[1]: NVLink domains of 4 and of 8 GPUs in one cluster are not supported by this version");
  EXPECT_EQ(fault([](spec::Job& j) { j.cluster.groups[0].node.gpu.generation = spec::Generation::cdna3; }),
            "cluster.node[1]: GPUs of NVIDIA and of AMD cannot share a collective");
  EXPECT_EQ(fault([](spec::Job& j) { j.cluster.groups[0].node.gpu.memory = {}; }),
            "cluster.node[0].gpu.memory: is zero");
}

}  // namespace
