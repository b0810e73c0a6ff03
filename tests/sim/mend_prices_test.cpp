// tests/sim/mend_prices_test.cpp -- advice in the order of what it costs. SPDX-License-Identifier: Apache-2.0
#include "sim/mend_prices.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sim/memory/mends.h"
#include "sim/predict.h"
#include "tests/support/toy.h"

namespace {

/// The job on GPUs that have `share` of what it needs.
spec::Job short_of_memory(spec::Job job, double share) {
  const auto need = static_cast<double>(sim::outline(job).peak_bytes);
  job.cluster.node.gpu.memory = base::Bytes(need * share);
  return job;
}

TEST(MendPrices, AreThoseOfTheChangedJobsTheShortestFirst) {
  const spec::Job job = short_of_memory(
      toy::job({.dp = 8, .zero = 1, .microbatches = 2, .micro_batch = 2}, [](spec::Job& j) { j.model.layers = 32; }),
      0.9);
  result::Prediction p = sim::predict(job).prediction;
  const std::vector<std::string> as_tried = sim::changes_that_fit(job);
  ASSERT_GT(as_tried.size(), 1u);
  EXPECT_TRUE(p.mends.empty());  // predict() leaves it to those that show them
  sim::price_mends(job, p);
  EXPECT_TRUE(std::ranges::is_permutation(p.mends, as_tried));
  ASSERT_EQ(p.mend_step_times_s.size(), p.mends.size());
  EXPECT_TRUE(std::ranges::is_sorted(p.mend_step_times_s));
  for (const sim::FittingChange& change : sim::fitting_changes(job)) {
    const auto at = std::ranges::find(p.mends, change.flags) - p.mends.begin();
    EXPECT_EQ(p.mend_step_times_s[static_cast<std::size_t>(at)], sim::predict(change.job).prediction.step_time_s)
        << change.flags;
  }
}

TEST(MendPrices, OneOfEachRankIsEnoughWhereEachIsAskedFor) {
  spec::Job job = short_of_memory(
      toy::job({.dp = 8, .zero = 1, .microbatches = 2, .micro_batch = 2}, [](spec::Job& j) { j.model.layers = 32; }),
      0.9);
  job.simulation.unfold = true;
  result::Prediction p = sim::predict(job).prediction;
  sim::price_mends(job, p);
  ASSERT_FALSE(p.mends.empty());
  for (const sim::FittingChange& change : sim::fitting_changes(job)) {
    ASSERT_TRUE(change.job.simulation.unfold);
    const auto at = std::ranges::find(p.mends, change.flags) - p.mends.begin();
    EXPECT_EQ(p.mend_step_times_s[static_cast<std::size_t>(at)], sim::predict(change.job).prediction.step_time_s)
        << change.flags;
  }
}

TEST(MendPrices, WhatFitsHasNone) {
  const spec::Job job = toy::job();
  result::Prediction p = sim::predict(job).prediction;
  ASSERT_TRUE(p.fits);
  sim::price_mends(job, p);
  EXPECT_TRUE(p.mends.empty());
  EXPECT_TRUE(p.mend_step_times_s.empty());
}

}  // namespace
