// tests/sim/pricing/conditions_test.cpp -- what slow and lost links do to a whole step: who waits, how long, and what
// is told. SPDX-License-Identifier: Apache-2.0
#include "sim/pricing/conditions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "core/plan/build.h"
#include "core/plan/channel_name.h"
#include "sim/network/simgrid.h"
#include "sim/predict.h"
#include "sim/pricing/flatten.h"
#include "sim/pricing/prices.h"
#include "tests/sim/random_jobs.h"
#include "tests/support/toy.h"

namespace {

using sim::Ticks;

Ticks length_of(const spec::Job& job) {
  const plan::Plan plan = plan::build(job);
  return sim::run(sim::priced(plan, job)).end;
}

Ticks unfolded(spec::Job job) {
  job.simulation.unfold = true;
  return length_of(job);
}

/// Two nodes of 8: tensor parallel inside each, data parallel between them, nothing overlapped.
spec::Job two_nodes() { return toy::job({.tp = 8, .dp = 2, .microbatches = 2}); }

TEST(Conditions, ARingThroughASlowNodeIsSlowAsAWholeAndTensorParallelismIsNot) {
  // One rank of each ring a node: gradients of all 8 rings cross both nodes' cards. At a third of the rate of one
  // node's cards their reduction takes 3 times as long, which adds twice its time to the step; nothing else changes.
  spec::Job job = two_nodes();
  const plan::Plan plan = plan::build(job);
  const std::vector<base::Seconds> prices = sim::prices_of(plan, job.cluster);
  Ticks reduction = 0;
  for (const plan::Call& call : plan.roles[0].calls) {
    for (const plan::Operator& op : plan.segments[call.segment].operators) {
      if (op.channel >= 0 && plan::channel_name(plan.channels[op.channel]) == "dp") {
        reduction += sim::to_ticks(prices[op.work]);
      }
    }
  }
  ASSERT_GT(reduction, 0);
  const Ticks usual = length_of(job);
  job.simulation.slow_links = {{.node = 1, .factor = 3}};
  EXPECT_NEAR(length_of(job) - usual, 2 * reduction, 4);
  EXPECT_EQ(unfolded(job), length_of(job));  // exact: every group of the axis crosses the node
}

TEST(Conditions, OnlyStagesOnTheNodeAreSlowed) {
  // Four stages of two nodes each (tp 8, dp 2): node 7 is the last stage's. Its gradients alone take longer.
  spec::Job job = toy::job({.tp = 8, .pp = 4, .dp = 2, .microbatches = 4});
  job.simulation.slow_links = {{.node = 7, .factor = 2}};
  const std::vector<sim::Condition> conditions = sim::conditions_of(job);
  const plan::Plan plan = plan::build(job);
  ASSERT_EQ(conditions.size(), 1u);
  for (const plan::Role& role : plan.roles) {
    EXPECT_EQ(sim::touches(conditions[0], plan, role, job.cluster), role.stage == 3) << role.stage;
  }
}

TEST(Conditions, WarningsSayWhatIsSlowedAndHowMuch) {
  spec::Job job = two_nodes();
  const auto told = [&] { return sim::condition_warnings(plan::build(job), job); };
  EXPECT_TRUE(told().empty());
  job.simulation.slow_links = {{.node = 1, .factor = 3}};
  EXPECT_EQ(told(), std::vector<std::string>{"node 1: 8 of 8 cards 3 x slow: dp 3 x as long"});
  job.simulation.slow_links = {{.node = 1, .factor = 1.5, .card = 4}};
  job.simulation.lost_nics = {{0, 2}};
  EXPECT_EQ(told(), (std::vector<std::string>{"node 0: 2 of 8 cards lost: dp 2 x as long",
                                              "node 1: 1 of 8 cards 1.5 x slow: dp 1.5 x as long"}));
  spec::Job alone = toy::job({.tp = 8});
  alone.simulation.lost_nics = {{0, 2}};
  EXPECT_EQ(sim::condition_warnings(plan::build(alone), alone),
            std::vector<std::string>{"node 0: 2 of 8 cards lost: nothing takes longer"});
  const result::Prediction p = sim::predict(job).prediction;
  EXPECT_NE(std::find(p.warnings.begin(), p.warnings.end(), told()[0]), p.warnings.end());
}

TEST(Conditions, SeveralFaultsOfOneNodeAreOneCondition) {
  spec::Job job = two_nodes();
  job.simulation.lost_nics = {{0, 1}};
  job.simulation.dead_links = {{.node = 0, .factor = std::numeric_limits<double>::infinity(), .card = 0}};
  job.simulation.slow_links = {{.node = 0, .factor = 2, .card = 7}};
  const std::vector<sim::Condition> all = sim::conditions_of(job);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].text, "node 0: 2 of 8 cards lost, 1 of 8 cards 2 x slow");
}

/// A random toy on nodes of few GPUs, so that all axes leave them, with something slow or lost on one of them.
spec::Job faulty(random_jobs::Source& source) {
  spec::Job job = source.job();
  const int ranks = job.cluster.gpus();
  for (const int gpus : {4, 3, 2, 1}) {
    if (ranks % gpus != 0) continue;
    job.cluster.nodes = ranks / gpus;
    job.cluster.node.gpus = job.cluster.node.nvlink.domain = job.cluster.node.nic.count = gpus;
    break;
  }
  return job;
}

void break_something(spec::Job& job, random_jobs::Source& source) {
  const int node = source.below(job.cluster.nodes);
  if (source.coin() && job.cluster.node.nic.count > 1) {
    job.simulation.lost_nics = {{node, 1 + source.below(job.cluster.node.nic.count - 1)}};
  } else {
    job.simulation.slow_links = {{.node = node,
                                  .factor = source.one_of({1.5, 4.0}),
                                  .card = source.coin() ? -1 : source.below(job.cluster.node.nic.count)}};
  }
}

TEST(Conditions, NothingThatIsLostMakesAStepFaster) {
  random_jobs::Source source(3);
  for (int n = 0; n < 150; ++n) {
    spec::Job job = faulty(source);
    if (n % 3 == 0 && sim::has_simgrid()) job.network.fidelity = spec::Fidelity::flow;
    const Ticks usual = length_of(job);
    break_something(job, source);
    // A schedule may gain a little where a longer operator changes who goes first (Graham's anomalies).
    ASSERT_GE(static_cast<double>(length_of(job)), static_cast<double>(usual) * 0.999) << random_jobs::text(job);
  }
}

TEST(Conditions, FoldedIsAnUpperBoundOfRankByRank) {
  random_jobs::Source source(4);
  for (int n = 0; n < 100; ++n) {
    spec::Job job = faulty(source);
    break_something(job, source);
    job.simulation.jitter = 0;
    ASSERT_LE(static_cast<double>(unfolded(job)), static_cast<double>(length_of(job)) * 1.001)
        << random_jobs::text(job);
  }
}

}  // namespace
