// tests/sim/search/search_test.cpp -- bounds against brute force, one thread against two, on small clusters drawn from
// a seed; faults; a search that is stopped. SPDX-License-Identifier: Apache-2.0
#include "sim/search/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "core/base/fault.h"
#include "core/config/search_reader.h"
#include "sim/predict.h"
#include "sim/search/strategies.h"
#include "tests/support/toy.h"

namespace {

using spec::SearchKey;

/// A toy of `nodes` nodes of 8 whose memory is so small that a part of the strategies does not fit.
spec::Job base_job(unsigned seed) {
  std::mt19937 random(seed);
  const auto one_of = [&](std::initializer_list<int> values) { return values.begin()[random() % values.size()]; };
  spec::Job job = toy::draft({.dp = 8});
  job.cluster.nodes = one_of({1, 2});
  job.model.layers = one_of({4, 8, 6});
  job.model.gated_mlp = random() % 2 == 0;
  job.training.sequence = 4096;
  job.model.max_positions = 4096;
  job.training.global_batch = one_of({16, 32});
  job.cluster.node.gpu.memory = base::Bytes(one_of({2, 3, 6}) * 0.5e9);
  job.cluster.node.calibration.compute_slowdown = 1.1;
  job.framework.launch = job.framework.backward_launch = base::us(one_of({0, 4}));
  job.framework.overlap.grad_reduce = job.framework.overlap.param_gather = random() % 2 == 0;
  job.framework.overlap.p2p = random() % 2 == 0;
  job.strategy = spec::Strategy();
  job.strategy.framework = "none";
  job.uncertainty.unmodelled = {0.05, 0.05};
  return job;
}

std::string text(const result::Choices& choices) {
  std::string out;
  for (const auto& [key, value] : choices) out += key + "=" + value + " ";
  return out;
}

/// Small enough to price each of its strategies.
spec::SearchSpace some_space() {
  spec::SearchSpace out;
  out[SearchKey::attention_kernel] = {static_cast<spec::SearchValue>(spec::AttentionKernel::flash2)};
  out[SearchKey::micro_batch] = {1, 2};
  out[SearchKey::cp] = {1};
  return out;
}

sim::SearchOptions options(unsigned threads = 2, bool bounds = true) {
  sim::SearchOptions out;
  out.threads = threads;
  out.bounds = bounds;
  out.top = 5;
  return out;
}

void expect_same(const result::Search& a, const result::Search& b) {
  EXPECT_EQ(a.strategies, b.strategies);
  EXPECT_EQ(a.fits, b.fits);
  ASSERT_EQ(a.results.size(), b.results.size());
  for (std::size_t i = 0; i < a.results.size(); ++i) {
    EXPECT_EQ(text(a.results[i].strategy), text(b.results[i].strategy)) << "place " << i;
    EXPECT_EQ(a.results[i].prediction.step_time_s, b.results[i].prediction.step_time_s);
  }
  ASSERT_EQ(a.pareto.size(), b.pareto.size());
  for (std::size_t i = 0; i < a.pareto.size(); ++i) {
    EXPECT_EQ(text(a.pareto[i].strategy), text(b.pareto[i].strategy)) << "trade " << i;
  }
}

TEST(Search, BoundsNeverTakeABestStrategyAway) {
  for (unsigned seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const spec::Job job = base_job(seed);
    const result::Search brute = sim::search(job, some_space(), options(2, false)),
                         pruned = sim::search(job, some_space(), options());
    EXPECT_EQ(brute.bounded, 0);
    EXPECT_EQ(brute.priced, brute.fits);
    EXPECT_GT(pruned.bounded, 0);
    expect_same(brute, pruned);
  }
}

/// 13 layers, which neither 4 nor 8 stages divide, with their ends counted or not.
spec::Job of_13_layers() {
  spec::Job job = base_job(3);
  job.cluster.nodes = 1;
  job.model.layers = 13;
  job.cluster.node.gpu.memory = base::GB(8);
  return job;
}

TEST(Search, LayersThatDoNotDivideAreCutUnevenly) {
  spec::SearchSpace space = some_space();
  space[SearchKey::pp] = {4};
  const result::Search brute = sim::search(of_13_layers(), space, options(2, false)),
                       pruned = sim::search(of_13_layers(), space, options());
  expect_same(brute, pruned);
  ASSERT_FALSE(pruned.results.empty());
  for (const result::SearchRow& row : pruned.results) {
    EXPECT_NE(text(row.strategy).find("stage_layers=["), std::string::npos) << text(row.strategy);
  }
}

TEST(Search, AnUnevenCutIsPredictedAsTheJobThatListsItsLayers) {
  spec::SearchSpace space = some_space();
  space[SearchKey::pp] = {4};
  space[SearchKey::schedule] = {static_cast<spec::SearchValue>(spec::Schedule::one_f_one_b)};
  const result::SearchRow best = sim::search(of_13_layers(), space, options()).results.front();
  spec::Job job = of_13_layers();
  for (const auto& [key, value] : best.strategy) config::set_choice(key, value, job);
  EXPECT_EQ(job.strategy.stage_layers.size(), 4u);
  EXPECT_EQ(sim::predict(spec::resolve(job), sim::Detail::chains).prediction.step_time_s, best.prediction.step_time_s);
}

TEST(Search, WhatTheFrameworkDoesWithLayersIsAmongTheStrategies) {
  // 13 layers in 4 stages, by a framework that cuts them itself where the Job says nothing.
  spec::Job job = of_13_layers();
  job.framework.balances_stages = true;
  spec::SearchSpace space = some_space();
  space[SearchKey::pp] = {4};
  space[SearchKey::schedule] = {static_cast<spec::SearchValue>(spec::Schedule::one_f_one_b)};
  const result::Search all = sim::search(job, space, options());
  expect_same(sim::search(job, space, options(2, false)), all);
  EXPECT_TRUE(std::any_of(all.results.begin(), all.results.end(), [](const result::SearchRow& row) {
    return text(row.strategy).find("stage_layers") == std::string::npos;
  }));
}

TEST(Search, LayersThatDivideAreCutEvenly) {
  for (const result::SearchRow& row : sim::search(base_job(1), some_space(), options()).results) {
    EXPECT_EQ(text(row.strategy).find("stage_layers"), std::string::npos);
  }
}

TEST(Search, AListOfLayersStaysWhereItIsGiven) {
  spec::Job job = of_13_layers();
  job.strategy.stage_layers = {2, 4, 4, 3};
  spec::SearchSpace space = some_space();
  space[SearchKey::stage_layers] = {spec::kListedLayers};
  const result::Search answer = sim::search(job, space, options());
  ASSERT_FALSE(answer.results.empty());
  for (const result::SearchRow& row : answer.results) {
    EXPECT_NE(text(row.strategy).find("stage_layers=[2, 4, 4, 3]"), std::string::npos);
  }
}

TEST(Search, TheAnswerDoesNotDependOnThreads) {
  const spec::Job job = base_job(7);
  expect_same(sim::search(job, some_space(), options(1)), sim::search(job, some_space(), options(3)));
}

/// Three searches in turn, each told what the ones before it have found; the last is the first rank.
result::Search by_three(const spec::Job& job, const spec::SearchSpace& space) {
  std::vector<std::string> told(3);
  result::Search out;
  for (const int rank : {2, 1, 0}) {
    sim::SearchOptions mine = options();
    mine.share = {rank, 3, [&](const std::string& text) {
                    told[static_cast<std::size_t>(rank)] = text;
                    return told;
                  }};
    out = sim::search(job, space, mine);
  }
  return out;
}

TEST(Search, TheAnswerDoesNotDependOnProcesses) {
  for (const unsigned seed : {7u, 8u}) {
    const spec::Job job = base_job(seed);
    const result::Search one = sim::search(job, some_space(), options()), three = by_three(job, some_space());
    expect_same(one, three);
    EXPECT_EQ(three.evaluated, one.evaluated);
    ASSERT_EQ(three.space.size(), one.space.size());
    for (std::size_t k = 0; k < one.space.size(); ++k) EXPECT_EQ(three.space[k].values, one.space[k].values);
  }
}

TEST(Search, LeastMemoryIsFoundAsSurely) {
  for (unsigned seed = 1; seed <= 2; ++seed) {
    sim::SearchOptions by_memory = options(), brute = options(2, false);
    by_memory.by = brute.by = sim::Objective::memory;
    const spec::Job job = base_job(seed);
    expect_same(sim::search(job, some_space(), brute), sim::search(job, some_space(), by_memory));
  }
}

TEST(Search, EveryStrategyIsCountedOnce) {
  const result::Search answer = sim::search(base_job(2), {}, options());
  EXPECT_TRUE(answer.complete);
  EXPECT_EQ(answer.evaluated, answer.strategies);
  EXPECT_EQ(answer.priced + answer.bounded, answer.fits);
  for (const result::SearchedKey& key : answer.space) {
    std::int64_t sum = 0;
    for (const auto& [value, count] : key.values) sum += count;
    EXPECT_EQ(sum, answer.strategies) << key.key;
  }
}

TEST(Search, AFixedKeyHasOneValue) {
  spec::SearchSpace space;
  space[SearchKey::tp] = {2};
  space[SearchKey::zero] = {0, 1};
  for (const result::SearchRow& row : sim::search(base_job(3), space, options()).results) {
    EXPECT_NE(text(row.strategy).find("tp=2 "), std::string::npos);
    EXPECT_EQ(text(row.strategy).find("zero=3"), std::string::npos);
  }
}

TEST(Search, TheFrontFallsInMemoryAsItRisesInTime) {
  const result::Search answer = sim::search(base_job(5), {}, options());
  ASSERT_FALSE(answer.pareto.empty());
  for (std::size_t i = 1; i < answer.pareto.size(); ++i) {
    EXPECT_GT(answer.pareto[i].pace_s, answer.pareto[i - 1].pace_s);
    EXPECT_LT(answer.pareto[i].peak_bytes, answer.pareto[i - 1].peak_bytes);
  }
}

TEST(Search, WhatIsOnTheFrontIsPredictedSo) {
  sim::SearchOptions few = options();
  few.top = 1;  // most of the front is no result
  const result::Search answer = sim::search(base_job(5), {}, few);
  ASSERT_GT(answer.pareto.size(), 1u);
  for (const result::SearchTrade& trade : answer.pareto) {
    spec::Job job = base_job(5);
    for (const auto& [key, value] : trade.strategy) config::set_choice(key, value, job);
    const result::Prediction p = sim::predict(spec::resolve(job), sim::Detail::chains).prediction;
    EXPECT_EQ(p.step_time_s, trade.step_time_s) << text(trade.strategy);
    EXPECT_EQ(p.peak_bytes, trade.peak_bytes) << text(trade.strategy);
  }
}

TEST(Search, WhereNothingIsSoundTheReasonIsTold) {
  spec::SearchSpace space;
  space[SearchKey::tp] = {3};
  try {
    sim::search(base_job(1), space, options());
    FAIL() << "a tp of 3 divides no 8 GPUs";
  } catch (const base::InputError& error) {
    EXPECT_EQ(error.faults.front().field, "strategy.tp");
  }
}

TEST(Search, WhereNothingFitsThereIsNoResult) {
  spec::Job job = base_job(1);
  job.cluster.node.gpu.memory = base::Bytes(1e6);
  const result::Search answer = sim::search(job, {}, options());
  EXPECT_EQ(answer.fits, 0);
  EXPECT_TRUE(answer.results.empty());
  EXPECT_EQ(answer.evaluated, answer.strategies);
}

/// The fewest bytes that any sound strategy needs.
std::int64_t least_peak(const spec::Job& job, const spec::SearchSpace& space) {
  sim::JobMaker jobs(job, space);
  std::int64_t out = std::numeric_limits<std::int64_t>::max();
  sim::each_layer_choice(job, space, [&](const spec::SearchPoint& layers) {
    jobs.each_with(layers, [&](const spec::SearchPoint&, const spec::Job& one) {
      out = std::min(out, sim::outline(one).peak_bytes);
    });
  });
  return out;
}

TEST(Search, WhereNothingFitsTheNearestIsToldByAnyNumberOfProcesses) {
  spec::Job job = base_job(1);
  job.cluster.node.gpu.memory = base::Bytes(1e6);
  spec::SearchSpace space = some_space();
  space[SearchKey::tp] = {2, 4};
  const result::Search answer = sim::search(job, space, options());
  ASSERT_TRUE(answer.nearest);
  EXPECT_FALSE(answer.nearest->prediction.fits);
  EXPECT_EQ(answer.nearest->prediction.peak_bytes, least_peak(job, space));
  for (const result::Search& again : {sim::search(job, space, options(1)), by_three(job, space)}) {
    ASSERT_TRUE(again.nearest);
    EXPECT_EQ(text(again.nearest->strategy), text(answer.nearest->strategy));
  }
}

TEST(Search, WhereNothingFitsItTellsHowManyNodesWouldDo) {
  // Memory that the leanest strategy of three nodes just fills: the plain oracle works out every strategy of each
  // number.
  spec::Job job = base_job(1);
  job.model.layers = 6;  // three nodes, of one stage each, hold less of them than two
  job.training.global_batch = 96;
  spec::SearchSpace space = some_space();
  space[SearchKey::tp] = {8};
  const auto least_on = [&](int nodes) {
    spec::Job other = job;
    other.cluster.nodes = nodes;
    return least_peak(other, space);
  };
  job.cluster.node.gpu.memory = base::Bytes(static_cast<double>(least_on(3)));
  job.cluster.nodes = 1;
  sim::SearchOptions asked = options();
  asked.more_nodes = true;
  const result::Search answer = sim::search(job, space, asked);
  ASSERT_TRUE(answer.nearest);
  EXPECT_GT(least_on(2), least_on(3));
  EXPECT_EQ(answer.nodes_that_fit, 3);
  EXPECT_FALSE(sim::search(job, space, options()).nodes_that_fit);  // unless it is asked
}

TEST(Search, WhereNoNumberOfNodesWouldDoNoneIsTold) {
  spec::Job job = base_job(1);
  job.cluster.node.gpu.memory = base::Bytes(1e6);  // of activations alone there are more
  sim::SearchOptions asked = options();
  asked.more_nodes = true;
  EXPECT_FALSE(sim::search(job, some_space(), asked).nodes_that_fit);
}

TEST(Search, WhereSomethingFitsNothingElseIsTheNearest) {
  EXPECT_FALSE(sim::search(base_job(1), some_space(), options()).nearest);
}

TEST(Search, WhatTakesHardlyLessThanTheMemoryIsTight) {
  spec::Job job = base_job(1);
  const result::SearchRow best = sim::search(job, some_space(), options()).results.front();
  const auto with_memory = [&](double times) {  // of the best one's peak
    spec::Job other = job;
    other.cluster.node.gpu.memory = base::Bytes(static_cast<double>(best.prediction.peak_bytes) * times);
    spec::SearchSpace space = some_space();
    for (const auto& [key, value] : best.strategy) {
      if (key != "stage_layers") config::read_values(key + "=" + value, "--fix", space);
    }
    return sim::search(other, space, options()).results.front();
  };
  EXPECT_TRUE(with_memory(1 / 0.96).tight);
  EXPECT_FALSE(with_memory(1 / 0.94).tight);
}

TEST(Search, StoppedItTellsTheBestSoFar) {
  std::atomic<bool> stop{false};
  sim::SearchOptions some = options(1);
  some.stop = &stop;
  some.progress = [&](std::size_t done, std::size_t all) { stop = done * 2 > all + 200; };  // while it prices
  const result::Search answer = sim::search(base_job(4), {}, some);
  EXPECT_FALSE(answer.complete);
  EXPECT_FALSE(answer.results.empty());
  EXPECT_GT(answer.strategies, answer.evaluated);
}

TEST(Search, StoppedBeforeAnythingIsPricedItTellsSomeOfWhatFits) {
  std::atomic<bool> stop{false};
  sim::SearchOptions some = options(1);
  some.stop = &stop;
  some.progress = [&](std::size_t done, std::size_t all) { stop = done * 4 > all; };  // half of the memories are known
  const result::Search answer = sim::search(base_job(4), {}, some);
  EXPECT_FALSE(answer.complete);
  ASSERT_GT(answer.fits, some.top);
  EXPECT_EQ(answer.priced, some.top);
  EXPECT_EQ(answer.results.size(), static_cast<std::size_t>(some.top));
}

TEST(JobMaker, AStrategyIsTheSameWhateverCameBeforeIt) {
  // Zero 2 and 3 train code of the user's, rings beside them gather; zero 1 has neither.
  spec::Job base = base_job(5);
  base.framework.own_models = base.framework.shards_by_dtensor = true;
  base.model.gated_mlp = true;
  spec::SearchSpace space = some_space();
  space[SearchKey::cp] = {1, 2};
  sim::JobMaker jobs(base, space);
  std::vector<spec::SearchPoint> points;
  sim::each_layer_choice(base, space, [&](const spec::SearchPoint& layers) {
    jobs.each_with(layers, [&](const spec::SearchPoint& point, const spec::Job&) { points.push_back(point); });
  });
  std::shuffle(points.begin(), points.end(), std::mt19937(7));
  points.resize(std::min<std::size_t>(points.size(), 100));
  for (const spec::SearchPoint& point : points) {
    sim::JobMaker fresh(base, space);
    const spec::Job alone = fresh.job_of(point);
    const spec::Job& after_others = jobs.job_of(point);
    EXPECT_EQ(after_others.assumptions, alone.assumptions);
    EXPECT_EQ(sim::outline(after_others).step_time_s, sim::outline(alone).step_time_s) << points.size();
    EXPECT_EQ(sim::outline(after_others).peak_bytes, sim::outline(alone).peak_bytes);
  }
}

}  // namespace
