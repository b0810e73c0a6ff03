// tests/sim/context_parallel_test.cpp -- laws of whole steps with context parallelism.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/predict.h"
#include "tests/sim/random_jobs.h"

namespace {

using spec::CpKind;

/// A random job whose sequence is cut, on as many times the GPUs.
spec::Job random_cut(random_jobs::Source& source) {
  spec::Job j = source.job();
  spec::Strategy& s = j.strategy;
  if (j.framework.ring_gathers) j.training.packing.reset();
  s.rank_order = "tp-cp-dp-pp";
  s.cp = source.one_of({2, 4});
  s.cp_kind = source.one_of({CpKind::ring, CpKind::all_gather, CpKind::ulysses});
  s.cp_balance = source.coin() ? spec::CpBalance::zigzag : spec::CpBalance::none;
  if (s.cp_kind == CpKind::ulysses && s.tp * s.cp > 8) s.cp = 2;
  if (s.attention_kernel == spec::AttentionKernel::unfused) s.attention_kernel = spec::AttentionKernel::flash2;
  if (source.coin() && !s.lora) s.recompute = {spec::Recompute::Kind::selective_ops, 0};
  j.model.window = source.one_of({0, 24});
  const spec::Cluster before = j.cluster;
  j.cluster = toy::cluster(before.gpus() * s.cp);
  j.cluster.node.gpu = before.node.gpu;
  j.cluster.node.calibration = before.node.calibration;
  j.cluster.node.links = before.node.links;
  j.cluster.fabric.calibration = before.fabric.calibration;
  return toy::resolved(std::move(j));
}

double share(const result::Prediction& p, std::string_view name) {
  for (const auto& [key, seconds] : p.breakdown_s) {
    if (key == name) return seconds;
  }
  return -1;
}

TEST(ContextParallelStep, FoldedIsUnfoldedToThePicosecond) {
  random_jobs::Source source(51);
  for (int n = 0; n < 60; ++n) {
    spec::Job job = random_cut(source);
    job.cluster.node.calibration.power.jitter = n % 2 == 0 ? 0.03 : 0;  // collectives wait as long on every rank
    const trace::Ticks folded = sim::predict(job).trace.length;
    job.simulation.unfold = true;
    ASSERT_EQ(sim::predict(job).trace.length, folded) << n << ": " << random_jobs::text(job);
  }
}

TEST(ContextParallelStep, FoldedIsUnfoldedUnderDualPipeAndShardsOfTheSequence) {
  // Two directions gather, reduce and exchange at once, on communicators that all cross one another.
  random_jobs::Source source(54);
  for (int n = 0; n < 24; ++n) {
    const int dp = source.one_of({1, 2, 4}), zero = source.one_of({1, 3, 3});
    spec::Job job = toy::job({.pp = 2,
                              .dp = dp,
                              .zero = zero,
                              .microbatches = source.one_of({4, 6, 8}),
                              .schedule = spec::Schedule::dualpipe},
                             [&](spec::Job& j) {
                               j.model.layers = source.one_of({4, 8});
                               j.strategy.cp = source.one_of({2, 4});
                               j.strategy.cp_kind = source.one_of({CpKind::ring, CpKind::all_gather, CpKind::ulysses});
                               if (dp * j.strategy.cp > 2 && source.coin()) j.strategy.shard = source.one_of({2, 4});
                               if (source.coin()) j.training.packing = spec::Packing{{}, 32, 16};
                               j.cluster = toy::cluster(2 * dp * j.strategy.cp);
                             });
    const trace::Ticks folded = sim::predict(job).trace.length;
    job.simulation.unfold = true;
    ASSERT_EQ(sim::predict(job).trace.length, folded) << n << ": " << random_jobs::text(job);
  }
}

TEST(ContextParallelStep, SharesAddUpBitForBit) {
  random_jobs::Source source(52);
  for (int n = 0; n < 100; ++n) {
    const result::Prediction p = sim::predict(random_cut(source)).prediction;
    double sum = 0;
    for (const auto& [name, seconds] : p.breakdown_s) sum += seconds;
    ASSERT_EQ(sum, p.step_time_s) << n;
  }
}

/// One replica of 4 ranks; a long sequence, so that attention is what takes time.
result::Prediction long_step(CpKind kind, double nvlink) {
  return sim::predict(toy::job({},
                               [&](spec::Job& j) {
                                 j.training.sequence = 32768;
                                 j.strategy.cp = 4;
                                 j.strategy.cp_kind = kind;
                                 j.cluster = toy::cluster(4);
                                 j.cluster.node.nvlink.bandwidth = base::GBps(nvlink);
                               }))
      .prediction;
}

TEST(ContextParallelStep, ARingHidesItsHopsBehindAttentionAndAGatherDoesNot) {
  // A hop brings 8192 tokens x 2 x 256 x 2 bytes = 8.4 MB: 84 us at 100 GB/s. Attention of a step is 4 x 256 x 8192^2/2
  // = 34 GFLOP: at least 34 us forward, 86 us backward, whose hop carries twice that.
  const double hidden = share(long_step(CpKind::ring, 1000), "exposed_cp");
  const double step = long_step(CpKind::ring, 1000).step_time_s;
  EXPECT_LT(hidden, 0.01 * step);
  EXPECT_GT(share(long_step(CpKind::ring, 10), "exposed_cp"), 4 * 3 * 700e-6);  // 840 us each, 4 layers, 3 hops
  EXPECT_GT(share(long_step(CpKind::all_gather, 1000), "exposed_cp"), hidden);
}

TEST(ContextParallelStep, OfAMillionTokensRunsAndTakesLongerThanItsAttentionAtThePeak) {
  const spec::Job j = toy::job({}, [](spec::Job& b) {
    b.training.sequence = 1'048'576;
    b.strategy.cp = 32;
    b.cluster = toy::cluster(32);
  });
  const result::Prediction p = sim::predict(j).prediction;
  // 4 layers x 3.5 (a backward of flash kernels is 2.5) x 4 x 256 x s^2/2 over 32 ranks of 1 PFLOP/s.
  const double least = 4 * 3.5 * 4 * 256 * (1048576.0 * 1048576.0 / 2) / 32 / 1e15;
  EXPECT_GT(p.step_time_s, least);
  EXPECT_LT(p.step_time_s, 100 * least);
}

}  // namespace
