// tests/sim/storage_test.cpp -- input data and checkpoints beside a step and in its way.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/plan/shares.h"
#include "core/plan/storage.h"
#include "sim/predict.h"
#include "tests/sim/random_jobs.h"

namespace {

result::Prediction predicted(const spec::Job& job) { return sim::predict(job).prediction; }

double share(const result::Prediction& p, const std::string& name) {
  for (const auto& [key, value] : p.breakdown_s) {
    if (key == name) return value;
  }
  return -1;
}

spec::Job reading(double bytes_per_token, bool prefetch) {
  spec::Job job = toy::job({.tp = 2, .dp = 4, .microbatches = 3, .micro_batch = 2});
  job.training.data = spec::InputData{.bytes_per_token = base::Bytes(bytes_per_token),
                                      .bytes_per_sample = {},
                                      .bandwidth = base::GBps(4),
                                      .prefetch = prefetch};
  return job;
}

TEST(Storage, ShortReadsHideBehindTheStep) {
  const double alone = predicted(toy::job({.tp = 2, .dp = 4, .microbatches = 3, .micro_batch = 2})).step_time_s;
  const result::Prediction p = predicted(reading(4, true));
  EXPECT_EQ(p.step_time_s, alone);
  EXPECT_EQ(share(p, "storage"), 0);
}

TEST(Storage, LongReadsAreTheStep) {
  // Each of four readers of the node has 1 GB/s; 6 sequences of 128 tokens of 10 MB are 7.68 GB.
  const result::Prediction p = predicted(reading(1e7, true));
  EXPECT_NEAR(p.step_time_s, 7.68, 1e-9);
  EXPECT_GT(share(p, "storage"), 7.6);
}

TEST(Storage, WithoutPrefetchTheStepWaitsForItsOwnSamples) {
  const double alone = predicted(toy::job({.tp = 2, .dp = 4, .microbatches = 3, .micro_batch = 2})).step_time_s;
  const result::Prediction p = predicted(reading(1000, false));
  EXPECT_NEAR(p.step_time_s, alone + 768e-6, 1e-11);
  EXPECT_NEAR(share(p, "storage"), 768e-6, 1e-11);
}

spec::Job saving(bool async, std::int64_t every) {
  spec::Job job = toy::job({.dp = 4});
  job.training.checkpoint =
      spec::Checkpoint{.every = every, .shared = true, .bandwidth = base::GBps(0.4), .async = async};
  return job;
}

TEST(Storage, ACheckpointIsWeightsAndStatesOnceSpreadOverRanks) {
  const spec::Job job = toy::job({.dp = 4, .zero = 1});
  const plan::Context context(job);
  const plan::Held held = plan::chunk_parameters(context, plan::chunks_of(context)[0][0]);
  // 2 bytes of weight, 4 of master weight, 8 of moments; a quarter a rank.
  EXPECT_EQ(plan::checkpoint_bytes(context, held), (held.dense + 3) / 4 * 14);
}

TEST(Storage, AShardThatIsTheMasterWeightIsWrittenOnce) {
  const spec::Job job = toy::job({.dp = 4, .zero = 3}, [](spec::Job& j) { j.framework.fp32_shards = true; });
  const plan::Context context(job);
  const plan::Held held = plan::chunk_parameters(context, plan::chunks_of(context)[0][0]);
  EXPECT_EQ(plan::checkpoint_bytes(context, held), (held.dense + 3) / 4 * (4 + 8));
}

TEST(Storage, ACheckpointLeavesTheGpuAsFastAsCopiesDo) {
  // Copies reach 8 of the link's 20 GB/s.
  const auto copied = [](double rate) {
    spec::Job job = saving(false, 10);
    job.cluster.node.pcie.copy = base::GBps(rate);
    return share(predicted(job), "offload");
  };
  EXPECT_NEAR(copied(8), copied(0) * 20 / 8, 1e-6 * copied(8));
  EXPECT_EQ(copied(30), copied(0));  // never more than the link
}

TEST(Storage, ASynchronousCheckpointStopsTheStepForItsShare) {
  const spec::Job job = toy::job({.dp = 4});
  const plan::Context context(job);
  const plan::Held held = plan::chunk_parameters(context, plan::chunks_of(context)[0][0]);
  const double bytes = static_cast<double>(plan::checkpoint_bytes(context, held));
  const double alone = predicted(job).step_time_s;
  // PCIe of 20 GB/s, then a quarter of 400 MB/s; every 10 steps.
  const result::Prediction p = predicted(saving(false, 10));
  EXPECT_NEAR(p.step_time_s, alone + bytes / 10 / 20e9 + bytes / 10 / 1e8, 1e-6 * p.step_time_s);
  EXPECT_NEAR(share(p, "storage"), bytes / 10 / 1e8, 1e-6 * p.step_time_s);
  EXPECT_NEAR(share(p, "offload"), bytes / 10 / 20e9, 1e-6 * p.step_time_s);
}

TEST(Storage, StagesOfANodeShareItsPathByWhatTheyWrite) {
  // Four stages on one node, of which the first and the last hold a table besides: written in all bytes over 400 MB/s.
  const spec::Job job = toy::job({.pp = 4, .microbatches = 4}, [](spec::Job& j) {
    j.training.checkpoint = spec::Checkpoint{.every = 1, .shared = true, .bandwidth = base::GBps(0.4), .async = false};
  });
  const plan::Context context(job);
  double all = 0;
  for (int stage = 0; stage < 4; ++stage) {
    const plan::CheckpointShare share = plan::checkpoint_share(context, stage);
    all += static_cast<double>(share.rank);
    EXPECT_EQ(share.node, plan::checkpoint_share(context, 0).node);
  }
  EXPECT_EQ(all, static_cast<double>(plan::checkpoint_share(context, 0).node));
  EXPECT_NEAR(share(predicted(job), "storage"), all / 0.4e9, 1e-3 * all / 0.4e9);
}

TEST(Storage, AnAsynchronousCheckpointCostsOnlyWhatIsNotWrittenByTheNext) {
  // Every step the writing is the bottleneck and both ways cost nearly the same; rarely enough, only the copy is left.
  const double alone = predicted(toy::job({.dp = 4})).step_time_s;
  const result::Prediction rare = predicted(saving(true, 1'000'000));
  EXPECT_NEAR(rare.step_time_s, alone, 1e-4 * alone);
  EXPECT_EQ(share(rare, "storage"), 0);
  EXPECT_GT(share(predicted(saving(true, 1)), "storage"), 0);
  for (const int every : {1, 10, 100, 10'000}) {
    EXPECT_LE(predicted(saving(true, every)).step_time_s, predicted(saving(false, every)).step_time_s) << every;
  }
}

TEST(Storage, RandomJobsAddUpAndFoldExactly) {
  random_jobs::Source source(12);
  for (int n = 0; n < 60; ++n) {
    spec::Job job = source.job();
    job.training.data = spec::InputData{.bytes_per_token = base::Bytes(1 + source.below(10'000)),
                                        .bytes_per_sample = {},
                                        .bandwidth = base::GBps(1 + source.below(9)),
                                        .prefetch = source.coin()};
    job.training.checkpoint = spec::Checkpoint{
        .every = 1 + source.below(50), .shared = true, .bandwidth = base::GBps(1), .async = source.coin()};
    ASSERT_TRUE(spec::check(job).empty());
    const result::Prediction folded = predicted(job);
    double sum = 0;
    for (const auto& [name, part] : folded.breakdown_s) sum += part;
    ASSERT_EQ(sum, folded.step_time_s) << random_jobs::text(job);
    job.simulation.unfold = true;
    ASSERT_EQ(predicted(job).step_time_s, folded.step_time_s) << random_jobs::text(job);
  }
}

TEST(Storage, WhatCannotBeReadOrWrittenIsAFault) {
  const auto field = [](auto change) {
    spec::Job job = toy::job({});
    change(job);
    const std::vector<base::Fault> faults = spec::check(job);
    return faults.empty() ? std::string() : faults.front().field;
  };
  EXPECT_EQ(field([](spec::Job& j) { j.training.data.emplace().bandwidth = base::GBps(1); }), "training.data");
  EXPECT_EQ(field([](spec::Job& j) { j.training.data.emplace().bytes_per_token = base::Bytes(4); }),
            "training.data.bandwidth");
  EXPECT_EQ(field([](spec::Job& j) { j.training.checkpoint.emplace(); }), "training.checkpoint.bandwidth");
  EXPECT_EQ(field([](spec::Job& j) {
              j.training.checkpoint.emplace();
              j.cluster.node.nvme.write = base::GBps(3);
            }),
            "");
}

}  // namespace
