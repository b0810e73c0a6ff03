// tests/sim/vocabulary_test.cpp -- what a vocabulary cut over the stages wins (Yeung et al., arXiv 2411.05288).
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "sim/predict.h"
#include "tests/sim/random_jobs.h"

namespace {

spec::Job wide(std::int64_t vocab, bool spread, int barriers = 2, int vpp = 1) {
  return toy::job({.pp = 4, .vpp = vpp, .microbatches = 32, .micro_batch = 8}, [&](spec::Job& j) {
    j.model.layers = 16;
    j.model.hidden = 1024;
    j.model.ffn = 4096;
    j.model.head_dim = 128;
    j.model.vocab = vocab;
    j.training.sequence = 1024;
    j.strategy.overlap.p2p = true;
    j.strategy.vocab_barriers = barriers;
    if (spread) j.strategy.vocab_parallel = spec::VocabParallel::pipeline;
  });
}
double step(const spec::Job& job) { return sim::predict(job).prediction.step_time_s; }

TEST(VocabularyParallel, ABigVocabularysStepFallsTowardsThatOfEvenStages) {
  // Head: 2 h V = 131072 h FLOPs a token; a stage's four layers: 4 (24 h^2 + 2 s h) = 106,496 h. On the last stage of
  // four that is 2.2 stages' work, shared it is 1.31: 1.7 times as fast at best.
  const double whole = step(wide(65536, false)), none = step(wide(64, true));
  for (const int barriers : {1, 2}) {
    const double spread = step(wide(65536, true, barriers));
    EXPECT_GT(whole / spread, 1.5) << barriers;
    EXPECT_LT(whole / spread, 1.75) << barriers;
    // Even stages: what the layers take, and a quarter of what the head takes.
    EXPECT_LT(spread / none, 1.31 * 1.12) << barriers;
  }
}

TEST(VocabularyParallel, InterleavedChunksGainAsWell) {
  EXPECT_GT(step(wide(65536, false, 2, 2)) / step(wide(65536, true, 2, 2)), 1.4);
}

TEST(VocabularyParallel, TheFirstStagesRowsWeighMoreThanAMicrobatch) {
  // 262,144 rows of 1024 numbers at 18 bytes are 4.8 GB on the first stage; spread, a quarter of two tables: 2.4 GB,
  // and one microbatch more of 8 x 1024 tokens: 34 x 1024 x 2^13 x 4 layers = 1.1 GB at most.
  const auto peak = [](const spec::Job& job) { return sim::predict(job).prediction.peak_bytes; };
  EXPECT_LT(peak(wide(262144, true, 1)), peak(wide(262144, false)));
}

TEST(VocabularyParallel, RandomJobsAddUpAndFoldExactly) {
  random_jobs::Source source(17);
  int spread = 0;
  for (int n = 0; n < 400 && spread < 60; ++n) {
    spec::Job job = source.job();
    job.strategy.vocab_parallel = spec::VocabParallel::pipeline;
    job.strategy.vocab_barriers = source.coin() ? 1 : 2;
    job.strategy.overlap.p2p = true;
    if (!spec::check(job).empty()) continue;
    ++spread;
    const result::Prediction folded = sim::predict(job).prediction;
    double sum = 0;
    for (const auto& [name, share] : folded.breakdown_s) sum += share;
    ASSERT_EQ(sum, folded.step_time_s) << random_jobs::text(job);
    job.simulation.unfold = true;
    ASSERT_EQ(sim::predict(job).prediction.step_time_s, folded.step_time_s) << random_jobs::text(job);
  }
  EXPECT_GE(spread, 30);
}

}  // namespace
