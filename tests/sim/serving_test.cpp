// tests/sim/serving_test.cpp -- what users of a served model wait for, on toys whose times can be worked out.
// SPDX-License-Identifier: Apache-2.0
#include "sim/serving.h"

#include <gtest/gtest.h>

#include "sim/predict.h"
#include "tests/sim/random_jobs.h"

namespace {

result::Prediction served(spec::Mode mode, const toy::Cut& cut, std::int64_t context = 0) {
  return sim::predict(toy::job(cut,
                               [&](spec::Job& j) {
                                 j.training.mode = mode;
                                 j.strategy.overlap.p2p = true;
                                 if (context > 0) j.training.context = context;
                               }))
      .prediction;
}

TEST(Serving, APrefillsStepIsTheTimeToTheFirstToken) {
  const result::Prediction p = served(spec::Mode::prefill, {.tp = 2, .pp = 2, .microbatches = 3});
  EXPECT_EQ(p.mode, "prefill");
  EXPECT_EQ(p.time_to_first_token_s, p.step_time_s);
  EXPECT_FALSE(p.time_per_output_token_s);
  EXPECT_DOUBLE_EQ(p.tokens_per_s, 3 * 128 / p.step_time_s);
}

TEST(Serving, ALongerContextCostsTheReadingOfItsCache) {
  // 4 layers x 16 sequences x 10,000 tokens x 2 x 256 numbers x 2 bytes more = 655,360,000 bytes at 1 TB/s.
  const double one = *served(spec::Mode::decode, {.micro_batch = 16}, 10'000).time_per_output_token_s;
  const double two = *served(spec::Mode::decode, {.micro_batch = 16}, 20'000).time_per_output_token_s;
  EXPECT_NEAR(two - one, 655.36e-6, 1e-9);
}

TEST(Serving, ContextParallelRanksReadTheCacheTogether) {
  // A quarter of the 655.36 us that 10,000 tokens more cost one rank.
  const auto token = [](std::int64_t context) {
    return *sim::predict(toy::job({.micro_batch = 16}, [&](spec::Job& j) {
              j.training.mode = spec::Mode::decode;
              j.training.context = context;
              j.strategy.cp = 4;
              j.cluster = toy::cluster(4);
            })).prediction.time_per_output_token_s;
  };
  EXPECT_NEAR(token(20'000) - token(10'000), 655.36e-6 / 4, 1e-9);
}

TEST(Serving, ALatentCacheIsReadOnceForAllHeads) {
  // 4 layers x 16 sequences x 10,000 tokens x (32 + 8) numbers x 2 bytes = 51.2 MB at 1 TB/s.
  const auto token = [](std::int64_t context) {
    return *sim::predict(toy::job({.micro_batch = 16}, [&](spec::Job& j) {
              j.training.mode = spec::Mode::decode;
              j.training.context = context;
              j.model.mla = spec::Mla{48, 32, 8, 16, 40};
            })).prediction.time_per_output_token_s;
  };
  EXPECT_NEAR(token(20'000) - token(10'000), 51.2e-6, 1e-9);
}

TEST(Serving, AReplicaWaitsForItsOwnBoardsAlone) {
  // Of 8 boards with a spread of 1 % the slowest takes 1.4 % longer than the usual one, which is what a replica of one
  // GPU waits for. Ranks that share experts wait for one another, as those of a training step do.
  const auto token = [](double spread, int ep) {
    return *sim::predict(toy::job({.dp = 8, .microbatches = 1, .micro_batch = 16}, [&](spec::Job& j) {
              j.training.mode = spec::Mode::decode;
              j.cluster.node.calibration.power.spread = spread;
              if (ep > 0) j.model.moe = spec::Moe{.experts = 8, .top_k = 2, .ffn = 64};
              if (ep > 0) j.strategy.ep = ep;
            })).prediction.time_per_output_token_s;
  };
  EXPECT_DOUBLE_EQ(token(0.01, 0), token(0, 0));
  EXPECT_DOUBLE_EQ(token(0.01, 1), token(0, 1));
  EXPECT_GT(token(0.01, 8), token(0, 8));
  EXPECT_GT(token(0.01, 8) / token(0, 8), token(0.01, 2) / token(0, 2));  // of two boards
}

TEST(Serving, WithOneStageATokenTakesAStep) {
  const result::Prediction p = served(spec::Mode::decode, {.tp = 2, .microbatches = 3});
  EXPECT_EQ(p.time_per_output_token_s, p.step_time_s);
  EXPECT_DOUBLE_EQ(p.tokens_per_s, 3 / p.step_time_s);
}

TEST(Serving, MicrobatchesThatFillThePipelineHideItsFillAndDrain) {
  // Of s stages a step of m microbatches takes s + m - 1 turns of the slowest stage at least, and in the steady state a
  // token comes every max(s, m) turns: less by s - 1 of m >= s.
  const result::Prediction p = served(spec::Mode::decode, {.pp = 4, .microbatches = 4}, 100'000);
  EXPECT_NEAR(*p.time_per_output_token_s / p.step_time_s, 4.0 / 7, 0.03);
  const result::Prediction alone = served(spec::Mode::decode, {.pp = 4, .microbatches = 1}, 100'000);
  EXPECT_NEAR(*alone.time_per_output_token_s / alone.step_time_s, 1, 0.03);  // nothing else is in the pipeline
}

TEST(Serving, RandomJobsAddUpAndFoldExactly) {
  random_jobs::Source source(11);
  int served = 0;
  for (int n = 0; n < 120; ++n) {
    spec::Job job = source.job();
    job.training.mode = source.coin() ? spec::Mode::prefill : spec::Mode::decode;
    job.training.output_tokens = 1 + source.below(300);
    if (!spec::check(job).empty()) continue;
    ++served;
    const result::Prediction folded = sim::predict(job).prediction;
    double sum = 0;
    for (const auto& [name, share] : folded.breakdown_s) sum += share;
    ASSERT_EQ(sum, folded.step_time_s) << random_jobs::text(job);
    if (folded.time_per_output_token_s) {
      // A lone step fills and drains the pipeline, and spares only the tokens' way back: two launches and a transfer
      // (at most 24 us of latency and hops each way) for each microbatch.
      const double back = 2 * job.framework.collective_launch.si() + 50e-6;
      ASSERT_LE(*folded.time_per_output_token_s,
                folded.step_time_s + static_cast<double>(spec::microbatches(job)) * back)
          << random_jobs::text(job);
    }
    job.simulation.unfold = true;
    const result::Prediction unfolded = sim::predict(job).prediction;
    ASSERT_EQ(unfolded.step_time_s, folded.step_time_s) << random_jobs::text(job);
    ASSERT_EQ(unfolded.time_per_output_token_s, folded.time_per_output_token_s) << random_jobs::text(job);
  }
  EXPECT_GT(served, 30);
}

}  // namespace
