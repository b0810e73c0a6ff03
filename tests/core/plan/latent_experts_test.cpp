// tests/core/plan/latent_experts_test.cpp -- experts that read and write vectors narrower than the model (Moe::latent).
// The toy is toy_moe.h's, with a width of 64 instead of its 256. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/plan/build.h"
#include "core/plan/flops.h"
#include "core/plan/moe.h"
#include "core/spec/parameters.h"
#include "tests/core/plan/toy_moe.h"
#include "tests/core/plan/walk.h"

namespace {

using plan::Context;

template <class Change>
spec::Job latent(const toy::Cut& cut, Change change) {
  return toy_moe::with(cut, [&](spec::Job& j) {
    j.model.moe->latent = 64;
    change(j);
  });
}

spec::Job latent(int ep = 1, int etp = 1) {
  return latent({.dp = 4}, [&](spec::Job& j) {
    j.strategy.ep = ep;
    j.strategy.etp = etp;
  });
}

TEST(LatentExperts, AreNarrowAndStandBetweenTwoProjections) {
  const spec::Job j = latent();
  const spec::Parameters p = spec::parameters(j.model);
  EXPECT_EQ(p.latent, j.model.layers * 2 * 256 * 64);
  EXPECT_EQ(p.experts, j.model.layers * 8 * 2 * 64 * 512);
  EXPECT_EQ(p.router, j.model.layers * 8 * 256);  // it reads the token itself
}

TEST(LatentExperts, EveryRankHoldsTheProjectionsWhole) {
  for (const auto& [ep, etp] : std::vector<std::pair<int, int>>{{1, 1}, {4, 1}, {2, 2}}) {
    const spec::Job j = latent(ep, etp);
    const Context c(j);
    const plan::Held held = toy_moe::held_by_stages(c);
    EXPECT_EQ(held.dense + held.experts * ep * etp, spec::parameters(j.model).total()) << ep << ' ' << etp;
  }
}

TEST(LatentExperts, ATokenIsProjectedOnceAndItsCopiesAreNarrow) {
  // ep 4: 256 copies of 128 tokens leave a rank and as many come, 128 for each of its two experts.
  const plan::Plan p = plan::build(latent(4));
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::int64_t>> shapes;
  walk::operators(p, p.roles[0], [&](const plan::Call&, const plan::Operator& op) {
    const auto* work = std::get_if<plan::Matmul>(&p.works[op.work]);
    if (!work || op.layer != 0 || op.phase != plan::Phase::forward) return;
    const std::string& name = p.names[op.name];
    shapes[name] = {work->m, work->n, work->k};
    if (name.starts_with("latent") || name.starts_with("expert") || name == "router") order.push_back(name);
  });
  EXPECT_EQ(shapes["latent down"], (std::vector<std::int64_t>{128, 64, 256}));
  EXPECT_EQ(shapes["expert up"], (std::vector<std::int64_t>{128, 512, 64}));
  EXPECT_EQ(shapes["expert down"], (std::vector<std::int64_t>{128, 64, 512}));
  EXPECT_EQ(shapes["latent up"], (std::vector<std::int64_t>{128, 256, 64}));
  const std::vector<std::string> once{"router", "latent down", "expert up", "expert down", "latent up"};
  ASSERT_GE(order.size(), once.size());
  EXPECT_EQ((std::vector<std::string>(order.begin(), order.begin() + 5)), once);
}

TEST(LatentExperts, WhatCrossesTheFabricIsAQuarterAsWide) {
  const plan::Plan narrow = plan::build(latent(4)), wide = plan::build(toy_moe::spread(4));
  for (const char* name :
       {"expert dispatch", "expert combine", "expert dispatch gradient", "expert combine gradient"}) {
    const auto bytes = walk::collective_bytes(narrow, narrow.roles[0], name);
    EXPECT_GT(bytes, 0) << name;
    EXPECT_EQ(4 * bytes, walk::collective_bytes(wide, wide.roles[0], name)) << name;
  }
}

TEST(LatentExperts, ALayerKeepsNarrowCopiesAndTheSumThatIsProjectedBack) {
  // 256 rows of 64, 128 sums of 64, in 2 bytes; what is between an expert's matmuls is as wide as ever.
  const spec::Job j = latent(4);
  const plan::MoeActivations kept = plan::moe_activations(Context(j));
  EXPECT_EQ(kept.inputs, 256 * 64 * 2);
  EXPECT_EQ(kept.latent, 128 * 64 * 2);
  EXPECT_EQ(kept.feed_forward, plan::moe_activations(Context(toy_moe::spread(4))).feed_forward);
}

TEST(LatentExperts, ABackwardHoldsTheGradientsOfNarrowRows) {
  // 256 rows: of the first matmul's output, 512 wide, and of its input, 64 wide; and the residual stream's of 128
  // tokens; in 2 bytes.
  const plan::Plan p = plan::build(latent());
  std::set<std::int64_t> taken;
  for (const plan::Segment& segment : p.segments) {
    for (const plan::MemoryChange& change : segment.memory) {
      if (change.category == plan::Category::workspace) taken.insert(change.bytes);
    }
  }
  EXPECT_TRUE(taken.contains((256 * (512 + 64) + 128 * 256) * 2));
  EXPECT_FALSE(taken.contains((256 * (512 + 256) + 128 * 256) * 2));
}

TEST(LatentExperts, ModelFlopsCountBothProjections) {
  // Forward of one token and layer: 2 (4 h^2 + 2 experts x 2 x 64 x 512 + router 8 h + 2 x 64 h).
  const double h = 256;
  EXPECT_DOUBLE_EQ(plan::forward_flops(latent().model, 128).linear,
                   128 * 2 * (4 * h * h + 2 * 2 * 64 * 512 + 8 * h + 2 * 64 * h));
}

TEST(LatentExperts, HoweverTheyAreSpreadTheArithmeticIsTheFormulas) {
  for (const auto& [ep, etp] : std::vector<std::pair<int, int>>{{1, 1}, {2, 1}, {4, 1}, {2, 2}}) {
    for (const auto kind : {spec::Recompute::Kind::none, spec::Recompute::Kind::full}) {
      const spec::Job j = latent({.dp = 4, .microbatches = 2}, [&, ep = ep, etp = etp](spec::Job& job) {
        job.strategy.ep = ep;
        job.strategy.etp = etp;
        job.strategy.recompute.kind = kind;
        job.strategy.attention_kernel = spec::AttentionKernel::unfused;
        job.model.causal = false;
        job.model.moe->first_dense = 1;
        job.model.moe->shared_ffn = 256;
      });
      const plan::Plan p = plan::build(j);
      EXPECT_NEAR(walk::flops(p) / p.hardware_flops, 1, 1e-12) << ep << ' ' << etp;
    }
  }
}

}  // namespace
