// tests/sim/search/group_paces_test.cpp -- what a mixed cluster's GPUs are worth, and the cuts that follow from it.
// SPDX-License-Identifier: Apache-2.0
#include "sim/search/group_paces.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "sim/predict.h"
#include "sim/search/search.h"
#include "tests/support/toy.h"

namespace {

/// A node of 8 toy GPUs, then one whose peaks are `peak` times theirs, and memory `hbm` times as fast.
spec::Job mixed(double peak, double hbm) {
  spec::Job job = toy::draft({.pp = 2, .dp = 8, .microbatches = 16});
  job.model.layers = 12;
  spec::Cluster& cluster = job.cluster;
  spec::Node other = cluster.node;
  other.name = "other";
  for (base::FlopRate& rate : other.gpu.peak) rate = rate * peak;
  other.gpu.hbm = other.gpu.hbm * hbm;
  cluster.groups = {{cluster.node, 1}, {other, 1}};
  cluster.node = other;
  return job;
}

double ratio(spec::Job job) {
  sim::tell_paces(job);
  return job.cluster.groups[1].pace / job.cluster.groups[0].pace;
}

TEST(GroupPaces, AreThoseOfTheWholeMicrobatch) {
  EXPECT_NEAR(ratio(mixed(1, 1)), 1, 1e-9);
  EXPECT_NEAR(ratio(mixed(0.5, 0.5)), 0.5, 1e-3);  // every kernel takes twice as long
  const double memory = ratio(mixed(1, 0.5)), math = ratio(mixed(0.5, 1));
  EXPECT_GT(memory, 0.5);  // peaks would say 1: matmuls are as fast, the other kernels are not
  EXPECT_LT(memory, 1);
  EXPECT_GT(math, 0.5);
  EXPECT_LT(math, 1);
}

TEST(GroupPaces, AreAlikeWhereTheHostSetsThem) {
  // 1 ms a launch, of kernels of microseconds: peaks would say 0.5.
  spec::Job job = mixed(0.5, 0.5);
  job.framework.launch = job.framework.backward_launch = base::ms(1);
  EXPECT_NEAR(ratio(job), 1, 0.01);
}

TEST(GroupPaces, AreNotToldWhereTheModelDoesNotRunOnOneGpu) {
  spec::Job job = mixed(0.5, 0.5);
  job.model.kv_heads = 3;  // which share no query heads evenly
  sim::tell_paces(job);
  for (const spec::NodeGroup& group : job.cluster.groups) EXPECT_EQ(group.pace, 0);
}

/// Seconds of the best of all cuts over two stages.
double best_of_all(const spec::Job& job) {
  double best = std::numeric_limits<double>::infinity();
  for (int first = 1; first < job.model.layers; ++first) {
    spec::Job cut = job;
    cut.strategy.stage_layers = {first, job.model.layers - first};
    best = std::min(best, sim::predict(spec::resolve(cut)).prediction.step_time_s);
  }
  return best;
}

TEST(GroupPaces, CutLayersAlmostAsWellAsTryingAllCuts) {
  for (const auto& [peak, hbm] : std::vector<std::pair<double, double>>{{0.5, 0.5}, {1, 0.4}, {0.4, 1}, {2, 1}}) {
    const spec::Job job = mixed(peak, hbm);
    spec::SearchSpace space;
    for (const auto& [key, value] : std::vector<std::pair<spec::SearchKey, spec::SearchValue>>{
             {spec::SearchKey::tp, 1},
             {spec::SearchKey::cp, 1},
             {spec::SearchKey::pp, 2},
             {spec::SearchKey::vpp, 1},
             {spec::SearchKey::zero, 0},
             {spec::SearchKey::micro_batch, 1},
             {spec::SearchKey::recompute, spec::value_of(spec::Recompute{})},
             {spec::SearchKey::schedule, static_cast<spec::SearchValue>(spec::Schedule::one_f_one_b)},
             {spec::SearchKey::embedding_in_split, 0}}) {
      space[key] = {value};
    }
    space[spec::SearchKey::attention_kernel] = {static_cast<spec::SearchValue>(spec::AttentionKernel::flash2)};
    sim::SearchOptions options;
    options.threads = 1;
    const result::Search found = sim::search(job, space, options);
    ASSERT_FALSE(found.results.empty());
    EXPECT_LT(found.results.front().prediction.step_time_s / best_of_all(job), 1.02) << peak << ' ' << hbm;
  }
}

}  // namespace
