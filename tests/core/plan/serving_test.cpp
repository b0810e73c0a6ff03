// tests/core/plan/serving_test.cpp -- prefill and decode of the toy (4 layers, h = 256, 8 heads of 32, s = 128).
// SPDX-License-Identifier: Apache-2.0
#include "core/plan/serving.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <variant>

#include "core/plan/build.h"
#include "core/plan/flops.h"
#include "tests/support/toy.h"

namespace {

using plan::Category;

spec::Job serving(spec::Mode mode, const toy::Cut& cut) {
  return toy::job(cut, [&](spec::Job& j) { j.training.mode = mode; });
}

std::int64_t resident(const plan::Plan& plan, Category c, int role = 0) {
  return plan.roles[role].resident[static_cast<int>(c)];
}

template <class W>
std::vector<W> works_of(const plan::Plan& plan) {
  std::vector<W> out;
  for (const plan::Work& work : plan.works) {
    if (const W* w = std::get_if<W>(&work)) out.push_back(*w);
  }
  return out;
}

TEST(Serving, TheKvCacheHasRoomForPromptAndOutput) {
  // 3 microbatches of 2 sequences of 128 + 100 tokens; in each of 4 layers keys and values of 256 numbers of 2 bytes.
  spec::Job job = serving(spec::Mode::decode, {.microbatches = 3, .micro_batch = 2});
  job.training.output_tokens = 100;
  EXPECT_EQ(resident(plan::build(job), Category::kv_cache), 6 * 228 * 4 * 2 * 256 * 2);
  job.training.kv_cache_dtype = spec::Dtype::fp8;
  EXPECT_EQ(resident(plan::build(job), Category::kv_cache), 6 * 228 * 4 * 2 * 256);
  job.model.window = 64;
  job.model.window_every = 2;  // layers 0 and 2 cache 64 tokens
  EXPECT_EQ(resident(plan::build(job), Category::kv_cache), 6 * (2 * 64 + 2 * 228) * 2 * 256);
}

TEST(Serving, TheKvCacheIsCutByTensorParallelRanksAndStages) {
  const plan::Plan plan = plan::build(serving(spec::Mode::decode, {.tp = 4, .pp = 2}));
  // 129 tokens; two layers a stage; 2 of 8 heads of 32.
  EXPECT_EQ(resident(plan, Category::kv_cache, 1), 129 * 2 * 2 * 64 * 2);
}

TEST(Serving, KeepsNeitherGradientsNorOptimizerNorActivations) {
  for (const spec::Mode mode : {spec::Mode::prefill, spec::Mode::decode}) {
    const plan::Plan plan = plan::build(serving(mode, {.tp = 2, .pp = 2, .microbatches = 2}));
    for (int role = 0; role < 2; ++role) {
      EXPECT_EQ(resident(plan, Category::gradients, role), 0);
      EXPECT_EQ(resident(plan, Category::optimizer, role), 0);
      EXPECT_GT(resident(plan, Category::parameters, role), 0);
    }
    for (const plan::Segment& segment : plan.segments) {
      std::int64_t left = 0;
      for (const plan::MemoryChange& change : segment.memory) {
        EXPECT_NE(change.category, Category::activations);
        left += change.bytes;
      }
      EXPECT_EQ(left, 0) << segment.name;
      for (const plan::Operator& op : segment.operators) EXPECT_EQ(op.phase, plan::Phase::forward);
    }
  }
}

TEST(Serving, ADecodedTokenIsOneRowOfEachMatmul) {
  const plan::Plan plan = plan::build(serving(spec::Mode::decode, {.micro_batch = 5}));
  for (const plan::Matmul& w : works_of<plan::Matmul>(plan)) EXPECT_EQ(w.m, 5);
  const auto attention = works_of<plan::Attention>(plan);
  ASSERT_EQ(attention.size(), 1u);
  EXPECT_EQ(attention[0].q_len, 1);
  EXPECT_EQ(attention[0].kv_len, 129);  // the prompt of 128 and itself
}

TEST(Serving, ThePrefillsHeadSeesTheLastTokenAlone) {
  const plan::Plan plan = plan::build(serving(spec::Mode::prefill, {.micro_batch = 3}));
  std::set<std::int64_t> rows;
  for (const plan::Matmul& w : works_of<plan::Matmul>(plan)) {
    if (w.n == 2048) rows.insert(w.m);
  }
  EXPECT_EQ(rows, std::set<std::int64_t>{3});
}

TEST(Serving, TheContextIsTheMiddleOfTheOutputUnlessTheJobSays) {
  spec::Training t;
  t.mode = spec::Mode::decode;
  t.sequence = 1000;
  EXPECT_EQ(t.attended(), 1001);
  t.output_tokens = 201;  // tokens 1 to 201 of the output: the 101st
  EXPECT_EQ(t.attended(), 1101);
  EXPECT_EQ(t.cached(), 1201);
  t.context = 5000;
  EXPECT_EQ(t.attended(), 5000);
  EXPECT_EQ(t.cached(), 5000);
}

TEST(Serving, FlopsAreOneForward) {
  // A layer's weights: 12 h^2 = 786,432; two FLOPs each for a token; scores and values 4 h for each of 129 tokens; the
  // head 2 h V. Six sequences.
  const spec::Job job = serving(spec::Mode::decode, {.microbatches = 3, .micro_batch = 2});
  EXPECT_DOUBLE_EQ(plan::model_flops(job), 6.0 * (4 * (2 * 786'432 + 4 * 256 * 129) + 2 * 256 * 2048));
  EXPECT_DOUBLE_EQ(plan::hardware_flops(job), plan::model_flops(job));
}

TEST(Serving, WhatServesNothingIsRefusedByName) {
  const auto field = [](auto change) {
    spec::Job job = toy::draft({.tp = 2, .pp = 2});
    job.training.mode = spec::Mode::decode;
    change(job);
    const std::vector<base::Fault> faults = spec::check(job);
    return faults.size() == 1 ? faults.front().field : std::to_string(faults.size()) + " faults";
  };
  EXPECT_EQ(field([](spec::Job& j) { j.strategy.sp = true; }), "strategy.sp");
  EXPECT_EQ(field([](spec::Job& j) { j.model.causal = false; }), "training.mode");
  EXPECT_EQ(field([](spec::Job& j) {
              j.strategy.vpp = 2;
              j.strategy.schedule = spec::Schedule::interleaved;
              j.training.global_batch = 2;
            }),
            "strategy.vpp");
  EXPECT_EQ(field([](spec::Job& j) {
              j.training.mode = spec::Mode::prefill;
              j.training.context = 5;
            }),
            "training.context");
  EXPECT_EQ(field([](spec::Job& j) {
              j.training.mode = spec::Mode::train;
              j.training.context = 5;
            }),
            "training.context");
}

TEST(Serving, WhatHasNoEffectIsAWarning) {
  spec::Job job = serving(spec::Mode::prefill, {});
  const std::size_t before = spec::warnings(job).size();
  job.strategy.recompute.kind = spec::Recompute::Kind::full;
  job.strategy.zero = 1;
  job.training.dropout = 0.1;
  EXPECT_EQ(spec::warnings(job).size(), before + 3);
}

}  // namespace
