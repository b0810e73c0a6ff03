// tests/sim/layer_list_test.cpp -- laws of predictions for networks that are lists of operators.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "sim/predict.h"
#include "tests/support/layer_toy.h"

namespace {

TEST(LayerListPrediction, AddsUpAndFoldsExactly) {
  for (const int dp : {1, 2, 8, 16}) {
    for (const int zero : {0, 1, 2, 3}) {
      for (spec::Job job : {layer_toy::job(dp, 2, 3), layer_toy::recommender(dp, 5)}) {
        job.strategy.zero = zero;
        job.strategy.overlap.grad_reduce = dp != 2;
        const result::Prediction folded = sim::predict(job).prediction;
        double sum = 0;
        for (const auto& [name, share] : folded.breakdown_s) sum += share;
        EXPECT_EQ(sum, folded.step_time_s);
        job.simulation.unfold = true;
        EXPECT_EQ(sim::predict(job).prediction.step_time_s, folded.step_time_s) << dp << ' ' << zero;
      }
    }
  }
}

TEST(LayerListPrediction, TablesAndGradientsMeetApartWhenRanksDrift) {
  // Gradients of one batch are summed beside the exchange of the next: with a slow rank the others are ahead of it.
  for (const int zero : {0, 1, 2, 3}) {
    spec::Job job = layer_toy::recommender(8, 6);
    job.strategy.zero = zero;
    job.simulation.unfold = true;
    const double even = sim::predict(job).prediction.step_time_s;
    job.simulation.slow_ranks = {{0, 3.0}};
    EXPECT_GT(sim::predict(job).prediction.step_time_s, even) << zero;
  }
}

TEST(LayerListPrediction, AGpuWithoutThePrecisionIsOneFault) {
  spec::Job j = layer_toy::draft(8, 2, 3);
  j.cluster.node.gpu.peak.fill({});
  const std::vector<base::Fault> faults = spec::check(j);
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].field, "training.precision");
}

TEST(LayerListPrediction, CountsSamples) {
  const result::Prediction p = sim::predict(layer_toy::job(4, 2, 3)).prediction;
  ASSERT_TRUE(p.samples_per_s);
  EXPECT_DOUBLE_EQ(*p.samples_per_s, 24 / p.step_time_s);
}

}  // namespace
