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

TEST(Serving, WeightsBelow16BitsWereCastOnce) {
  // Four layers, of which every matrix lies in one byte a number, in one layout; embedding and head in two. Only inputs
  // are cast in a step, whichever way the framework trains.
  for (const bool keeps : {true, false}) {
    const auto kept = [&](spec::Dtype precision) {
      spec::Job job = serving(spec::Mode::decode, {});
      job.cluster.node.gpu.peak[static_cast<int>(spec::Dtype::fp8)] = base::TFLOPps(2000);
      job.training.precision = precision;
      job.framework.keeps_casts = keeps;
      const plan::Plan plan = plan::build(job);
      for (const std::string& name : plan.names) {
        EXPECT_EQ(name.find("weight"), std::string::npos) << name;
      }
      return resident(plan, Category::parameters);
    };
    // q, k, v and output 4 h^2, both matrices of the feed-forward 8 h^2.
    const std::int64_t matrices = 4 * 12 * 256 * 256, less = kept(spec::Dtype::bf16) - kept(spec::Dtype::fp8);
    EXPECT_NEAR(static_cast<double>(less), static_cast<double>(matrices), 0.02 * static_cast<double>(matrices));
  }
}

TEST(Serving, TheOutputHeadKeepsTo16Bits) {
  // As in training: its weight lies in two bytes, of which WeightsBelow16BitsWereCastOnce tells.
  spec::Job job = serving(spec::Mode::decode, {});
  job.cluster.node.gpu.peak[static_cast<int>(spec::Dtype::fp8)] = base::TFLOPps(2000);
  job.training.precision = spec::Dtype::fp8;
  for (const plan::Matmul& w : works_of<plan::Matmul>(plan::build(job))) {
    EXPECT_EQ(w.dtype, w.n == job.model.vocab ? spec::Dtype::bf16 : spec::Dtype::fp8) << w.n;
  }
}

TEST(Serving, AllExpertsAreOneKernel) {
  const spec::Job job = toy::job({}, [](spec::Job& j) {
    j.training.mode = spec::Mode::decode;
    j.model.moe = spec::Moe{.experts = 8, .top_k = 2, .ffn = 64};
    j.model.bias = false;
  });
  int of_experts = 0;
  for (const plan::Matmul& w : works_of<plan::Matmul>(plan::build(job))) {
    EXPECT_FALSE(w.grouped);
    of_experts += w.batch > 1 ? 1 : 0;
  }
  EXPECT_EQ(of_experts, 2);
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

spec::Job latent(spec::Mode mode, const toy::Cut& cut = {}) {
  return toy::job(cut, [&](spec::Job& j) {
    j.training.mode = mode;
    j.model.mla = spec::Mla{1536, 512, 64, 128, 128};
    j.model.layers = 61;
  });
}

TEST(Serving, LatentAttentionCaches70KilobytesATokenOfDeepSeekV3) {
  // (512 + 64) numbers of 2 bytes in each of 61 layers = 70,272 bytes, whole on every tensor-parallel rank; 129 tokens.
  for (const spec::Mode mode : {spec::Mode::prefill, spec::Mode::decode}) {
    EXPECT_EQ(resident(plan::build(latent(mode)), Category::kv_cache), 129 * 70'272);
    EXPECT_EQ(resident(plan::build(latent(mode, {.tp = 4})), Category::kv_cache), 129 * 70'272);
  }
}

TEST(Serving, LatentAttentionDecodesInItsAbsorbedForm) {
  const plan::Plan plan = plan::build(latent(spec::Mode::decode, {.micro_batch = 5}));
  const auto attention = works_of<plan::Attention>(plan);
  ASSERT_EQ(attention.size(), 1u);
  EXPECT_EQ(attention[0].heads, 8);
  EXPECT_EQ(attention[0].kv_heads, 1);
  EXPECT_EQ(attention[0].head_dim, 576);
  EXPECT_EQ(attention[0].value_dim(), 512);
  EXPECT_TRUE(attention[0].values_in_keys);
  // Queries: 128 numbers of each of 8 heads to 512; outputs: 512 to 128. Nothing makes keys or values of the cache.
  int absorbed = 0;
  for (const plan::Matmul& w : works_of<plan::Matmul>(plan)) {
    if (w.batch == 8) absorbed += (w.m == 5 && w.k == 128 && w.n == 512) || (w.m == 5 && w.k == 512 && w.n == 128);
    EXPECT_FALSE(w.k == 512 && w.batch == 1) << "keys and values expanded";
  }
  EXPECT_EQ(absorbed, 2);
}

TEST(Serving, LatentFlopsAreThoseOfTheAbsorbedForm) {
  // A layer's attention weights, whichever way they are multiplied: 256 x 1536 + 1536 x 8 x 192 + 256 x 576 +
  // 512 x 8 x 256 + 8 x 128 x 256 = 4,210,688; feed-forward 8 h^2 = 524,288; 129 keys: 2 x 8 x (576 + 512) each.
  const spec::Job job = latent(spec::Mode::decode);
  EXPECT_DOUBLE_EQ(plan::model_flops(job), 61.0 * (2 * (4'210'688 + 524'288) + 2 * 8 * 1088 * 129) + 2 * 256 * 2048);
}

spec::Job parted(spec::Mode mode, int cp, spec::CpKind kind = spec::CpKind::ring) {
  return toy::job({.micro_batch = 2}, [&](spec::Job& j) {
    j.training.mode = mode;
    j.strategy.cp = cp;
    j.strategy.cp_kind = kind;
    j.cluster = toy::cluster(cp);
  });
}

TEST(Serving, ContextParallelRanksShareTheCache) {
  // 129 tokens over 4 ranks: 33 on the fullest.
  for (const spec::Mode mode : {spec::Mode::prefill, spec::Mode::decode}) {
    EXPECT_EQ(resident(plan::build(parted(mode, 4)), Category::kv_cache), 2 * 33 * 4 * 2 * 256 * 2);
  }
}

TEST(Serving, ContextParallelDecodingJoinsThePartsOfATokensAttention) {
  const plan::Plan plan = plan::build(parted(spec::Mode::decode, 4));
  EXPECT_EQ(works_of<plan::Attention>(plan)[0].kv_len, 33);
  for (const plan::Matmul& w : works_of<plan::Matmul>(plan)) EXPECT_EQ(w.m, 2);
  // Log-sum-exps of 2 tokens x 8 heads of 4 ranks, 4 bytes each; outputs of 2 x 256 numbers.
  std::set<std::int64_t> bytes;
  for (const plan::Collective& w : works_of<plan::Collective>(plan)) {
    EXPECT_EQ(w.group.size, 4);
    bytes.insert(w.bytes);
  }
  EXPECT_EQ(bytes, (std::set<std::int64_t>{2 * 8 * 4 * 4, 2 * 256 * 2}));
}

TEST(Serving, ContextParallelPrefillIsTheForwardOfTraining) {
  // 32 tokens a rank, 2 sequences; K and V of 2 x 256 numbers.
  for (const auto& [kind, collective] : {std::pair{spec::CpKind::ring, plan::CollectiveKind::shift},
                                         {spec::CpKind::all_gather, plan::CollectiveKind::all_gather},
                                         {spec::CpKind::ulysses, plan::CollectiveKind::all_to_all}}) {
    const plan::Plan plan = plan::build(parted(spec::Mode::prefill, 4, kind));
    bool seen = false;
    for (const plan::Collective& w : works_of<plan::Collective>(plan)) seen |= w.kind == collective;
    EXPECT_TRUE(seen) << static_cast<int>(kind);
  }
}

TEST(Serving, TheContextIsTheMiddleOfTheOutputUnlessTheJobSays) {
  spec::Training t{};
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
