// tests/core/plan/muon_test.cpp -- Muon: which parameters are matrices, who updates which, and what that costs.
// The toy has 4 layers, h = 256: four matrices of 256 x 256 in each (q, k, v, output) and one of 256 x 1024 either way.
// SPDX-License-Identifier: Apache-2.0
#include "core/plan/muon.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "core/plan/build.h"
#include "core/spec/parameters.h"
#include "tests/core/plan/walk.h"

namespace {

using plan::Context;
using plan::Matrices;

spec::Job muon(
    const toy::Cut& cut = {}, const std::function<void(spec::Job&)>& change = [](spec::Job&) {}) {
  return toy::job(cut, [&](spec::Job& j) {
    j.training.optimizer = spec::Optimizer::muon;
    change(j);
  });
}

std::vector<plan::Chunk> stage(const Context& c, int number = 0) {
  return plan::chunks_of(c)[static_cast<std::size_t>(number)];
}

std::int64_t resident(const spec::Job& j, plan::Category category) {
  return plan::build(j).roles[0].resident[static_cast<int>(category)];
}

/// Of one matrix: five iterations of X X^T (2 n n m), its square (2 n n n) and their product with X (2 n n m).
double iterations(double n, double m) { return 5 * 2 * n * n * (2 * m + n); }

TEST(Muon, TakesTheMatricesOfBlocksAndLeavesTheRestToAdamW) {
  const spec::Job j = muon();
  const Context c(j);
  EXPECT_EQ(plan::matrices_of(c, stage(c)),
            (std::vector<Matrices>{{256, 256, 16, false}, {256, 1024, 4, false}, {1024, 256, 4, false}}));
  // 12 h^2 of each layer.
  const std::int64_t rest = spec::parameters(j.model).total() - 4 * 12 * 256 * 256;
  EXPECT_EQ(plan::with_second_moments(c, stage(c)).total(), rest);
  // Momentum and master copy of all, second moments of the rest.
  EXPECT_EQ(resident(j, plan::Category::optimizer), 8 * spec::parameters(j.model).total() + 4 * rest);
}

TEST(Muon, OneOfTheRanksThatShareACopyHoldsTheTableWhole) {
  // 4 ranks, tied embeddings. From the largest down: the table of 2,048 x 256, eight matrices of 256 x 1,024, sixteen
  // of 256 x 256. The first rank has the table, numbers 4 and 8 (large), 12, 16, 20 and 24 (small).
  const spec::Job j = muon({.dp = 4, .zero = 1}, [](spec::Job& job) { job.model.tied_embeddings = true; });
  const std::int64_t table = 2048 * 256, matrices = 2 * 256 * 1024 + 4 * 256 * 256;
  const std::int64_t rest = spec::parameters(j.model).total() - table - 4 * 12 * 256 * 256;
  EXPECT_EQ(resident(j, plan::Category::optimizer), 12 * table + 8 * matrices + 12 * ((rest + 3) / 4));
}

TEST(Muon, OfTensorParallelRanksTakesEachItsShard) {
  const spec::Job j = muon({.tp = 2});
  const Context c(j);
  // q, k and v: 128 of 256 outputs; the output: 128 of 256 inputs; up and down the same of 1024.
  EXPECT_EQ(plan::matrices_of(c, stage(c)),
            (std::vector<Matrices>{{128, 256, 16, false}, {256, 512, 4, false}, {512, 256, 4, false}}));
}

TEST(Muon, ExpertsAreMatricesOfTheirOwn) {
  const spec::Job j = muon({.dp = 4}, [](spec::Job& job) {
    job.model.moe = spec::Moe{.experts = 8, .top_k = 2, .ffn = 512};
    job.model.bias = false;
    job.strategy.ep = 4;
    job.strategy.zero = 1;
  });
  const Context c(j);
  // A rank holds two experts of each layer, which nobody else does; the router is a matrix too.
  const std::vector<Matrices> all = plan::matrices_of(c, stage(c));
  EXPECT_EQ(all, (std::vector<Matrices>{
                     {8, 256, 4, false}, {256, 256, 16, false}, {256, 512, 8, true}, {512, 256, 8, true}}));
  // Dense ones are dealt to four ranks, sixteen and four of them.
  EXPECT_EQ(
      plan::owned_matrices(c, stage(c)),
      (std::vector<Matrices>{{256, 256, 4, false}, {8, 256, 1, false}, {256, 512, 8, true}, {512, 256, 8, true}}));
}

TEST(Muon, NoRankHasMoreThanTheOneThatIsPriced) {
  // Dealt one by one, from the largest to the smallest.
  walk::Dice dice(7);
  for (int i = 0; i < 200; ++i) {
    spec::Job j = walk::random_job(dice);
    j.training.optimizer = spec::Optimizer::muon;
    const Context c(j);
    for (int s = 0; s < c.pp; ++s) {
      const std::vector<plan::Chunk> chunks = stage(c, s);
      std::vector<double> single;
      for (const Matrices& one : plan::matrices_of(c, chunks)) {
        const auto [n, m] = std::minmax(one.rows, one.columns);
        for (std::int64_t k = 0; k < one.count; ++k)
          single.push_back(iterations(static_cast<double>(n), static_cast<double>(m)));
      }
      std::sort(single.rbegin(), single.rend());
      std::vector<double> ranks(static_cast<std::size_t>(j.strategy.zero == 0 ? 1 : c.axes[c.shard_axis].size));
      for (std::size_t k = 0; k < single.size(); ++k) ranks[k % ranks.size()] += single[k];
      double priced = 0;
      for (const Matrices& one : plan::owned_matrices(c, chunks)) {
        const auto [n, m] = std::minmax(one.rows, one.columns);
        priced += static_cast<double>(one.count) * iterations(static_cast<double>(n), static_cast<double>(m));
      }
      EXPECT_DOUBLE_EQ(priced, *std::max_element(ranks.begin(), ranks.end())) << walk::told(j);
    }
  }
}

TEST(Muon, ItsIterationsAreTheStepsOnlyProductsBehindTheBackward) {
  const auto products = [](const spec::Job& j) {
    const plan::Plan p = plan::build(j);
    double flops = 0;
    walk::operators(p, p.roles[0], [&](const plan::Call&, const plan::Operator& op) {
      const auto* work = std::get_if<plan::Matmul>(&p.works[op.work]);
      if (work && op.phase == plan::Phase::optimizer)
        flops += 2.0 * static_cast<double>(work->m) * static_cast<double>(work->n) * static_cast<double>(work->k) *
                 static_cast<double>(work->batch);
    });
    return flops;
  };
  EXPECT_DOUBLE_EQ(products(muon()), 16 * iterations(256, 256) + 8 * iterations(256, 1024));
  EXPECT_DOUBLE_EQ(products(muon({.dp = 4, .zero = 1})), 4 * iterations(256, 256) + 2 * iterations(256, 1024));
  EXPECT_EQ(products(toy::job()), 0);
}

TEST(Muon, DealsWholeMatricesSoThatGradientsAreSummedOnEveryRank) {
  const plan::Plan p = plan::build(muon({.dp = 4, .zero = 1}));
  EXPECT_EQ(walk::count(p, p.roles[0], "gradient all-reduce"), 1);
  EXPECT_EQ(walk::count(p, p.roles[0], "gradient reduce-scatter"), 0);
  EXPECT_GT(walk::count(p, p.roles[0], "parameter all-gather"), 0);
}

}  // namespace
