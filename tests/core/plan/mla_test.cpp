// tests/core/plan/mla_test.cpp -- latent attention of a toy: h = 256, 8 heads, narrow vectors of 48 (queries) and 32
// (keys and values), heads of 16 + 8 (rotary) for queries and keys and 40 for values.
// SPDX-License-Identifier: Apache-2.0
#include "core/plan/mla.h"

#include <gtest/gtest.h>

#include "core/plan/block.h"
#include "core/plan/flops.h"
#include "core/spec/parameters.h"
#include "tests/core/plan/walk.h"

namespace {

using spec::AttentionKernel;

void latent(spec::Job& j) {
  j.model.mla = spec::Mla{48, 32, 8, 16, 40};
  j.model.head_dim = 24;
  j.model.bias = false;
  j.model.position = spec::Position::rope;
  j.model.norm = spec::Norm::rmsnorm;
}

spec::Job toy_mla(toy::Cut cut, bool causal = true) {
  return toy::job(cut, [&](spec::Job& j) {
    latent(j);
    j.model.causal = causal;
  });
}

TEST(Mla, ALayersParametersAreThoseOfItsMatrices) {
  // Queries 48 (256 + 8 x 24) = 21504, keys and values 256 x 40 + 32 x 8 (16 + 40) = 24576, output 8 x 40 x 256 =
  // 81920, inner norms 48 + 32 = 80; feed-forward 2 x 256 x 1024, two norms of 256.
  const spec::Job j = toy_mla({});
  EXPECT_EQ(plan::layer_parameters(plan::Context(j), 0).total(), 21504 + 24576 + 81920 + 80 + 524288 + 512);
}

TEST(Mla, TheProjectionsDownAreWholeOnEveryTensorParallelRank) {
  // On 2 ranks: 48 x 256 and 256 x 40 whole; 48 x 192, 32 x 448 and 320 x 256 cut in two; both norms whole.
  const spec::Job j = toy_mla({.tp = 2});
  EXPECT_EQ(plan::latent_parameters(plan::Context(j)), 12288 + 10240 + 4608 + 7168 + 40960 + 80);
}

TEST(Mla, ARanksParametersAddUpToTheModels) {
  for (const int q : {0, 48}) {
    for (const bool bias : {false, true}) {
      const spec::Job j = toy::job({}, [&](spec::Job& job) {
        latent(job);
        job.model.mla->q_lora_rank = q;
        job.model.bias = bias;
      });
      EXPECT_EQ(walk::parameters(j, plan::build(j).roles[0]), spec::parameters(j.model).total()) << q << bias;
    }
  }
}

TEST(Mla, AttentionCountsTheWidthsOfQueriesAndOfValues) {
  // 128 x 128 / 2 pairs, 8 heads, scores 2 x 24 and values 2 x 40 FLOPs a pair.
  const spec::Job j = toy_mla({});
  EXPECT_DOUBLE_EQ(plan::forward_flops(j.model, 128).attention, 8192.0 * 8 * (48 + 80));
  plan::Attention a{AttentionKernel::flash3, 1, 128, 128, 8, 8, 24};
  a.value_head_dim = 40;
  EXPECT_DOUBLE_EQ(plan::hardware_flops(plan::Work(a)), 8192.0 * 8 * (48 + 80));
  // Backward: scores again, gradients of queries and keys as wide as queries; gradients of values and of weights as
  // wide as values.
  a.backward = true;
  EXPECT_DOUBLE_EQ(plan::hardware_flops(plan::Work(a)), 8192.0 * 8 * (3 * 48 + 2 * 80));
}

TEST(Mla, APlanRunsTheFlopsOfTheFormula) {
  // Without mask and with every score written, nothing is skipped; under sequence parallel no rank repeats another's
  // projection down.
  for (const int tp : {1, 2, 4}) {
    for (const auto kind : {spec::Recompute::Kind::none, spec::Recompute::Kind::selective, spec::Recompute::Kind::full,
                            spec::Recompute::Kind::selective_ops}) {
      spec::Job j = toy_mla({.tp = tp, .sp = true, .recompute = {kind}, .attention = AttentionKernel::unfused}, false);
      EXPECT_DOUBLE_EQ(walk::flops(plan::build(j)), plan::hardware_flops(j)) << tp;
      j.model.mla->q_lora_rank = 0;
      EXPECT_DOUBLE_EQ(walk::flops(plan::build(j)), plan::hardware_flops(j)) << tp << " whole queries";
    }
  }
}

TEST(Mla, WithoutSequenceParallelEveryRankRepeatsTheProjectionsDown) {
  // 3 passes of 2 x 128 x 256 x (48 + 40) in 4 layers, once more on the second rank.
  const spec::Job j = toy_mla({.tp = 2, .attention = AttentionKernel::unfused}, false);
  EXPECT_DOUBLE_EQ(walk::flops(plan::build(j)) - plan::hardware_flops(j), 4.0 * 3 * 2 * 128 * 256 * 88);
}

TEST(Mla, OnlyNarrowVectorsAreGathered) {
  // Forward of one block at tp 2 with sequence parallel: 48 and 32 wide vectors and 8 rotary numbers of 128 tokens in
  // bf16 are gathered, never the 256 wide input.
  const spec::Job j = toy_mla({.tp = 2, .sp = true});
  const plan::Context c(j);
  walk::Pen pen;
  plan::LatentAttention(c, pen.out).forward();
  std::vector<std::int64_t> gathered;
  for (const plan::Operator& op : pen.out.finish().operators) {
    if (const auto* work = std::get_if<plan::Collective>(&pen.work(op))) gathered.push_back(work->bytes);
  }
  EXPECT_EQ(gathered, (std::vector<std::int64_t>{128 * 48 * 2, 128 * 8 * 2, 128 * 32 * 2}));
}

TEST(Mla, GradientsOfTheWholeProjectionsAreSummedOnceAStep) {
  // (256 x (48 + 40) + 80) x 4 layers in fp32, and 9 norms of 256; without sequence parallel every rank has seen every
  // token.
  const spec::Job sp = toy_mla({.tp = 2, .sp = true, .microbatches = 3}), whole = toy_mla({.tp = 2, .microbatches = 3});
  const plan::Plan p = plan::build(sp), q = plan::build(whole);
  EXPECT_EQ(walk::collective_bytes(p, p.roles[0], "shared weights"), ((256 * 88 + 80) * 4 + 9 * 256) * 4);
  EXPECT_EQ(walk::count(q, q.roles[0], "shared weights"), 0);
}

TEST(Mla, KeepsNarrowVectorsAndWholeHeads) {
  // Per token: 2 x 48 + 2 x 32 narrow, 8 (24 + 24 + 40) of the heads, bf16; cuDNN takes values as they are.
  const spec::Job j = toy_mla({.attention = AttentionKernel::cudnn});
  EXPECT_EQ(plan::latent_activations(plan::Context(j)), 128 * (160 + 704) * 2);
}

TEST(Mla, WhatABlockTakesItGivesBack) {
  for (const auto kernel : {AttentionKernel::flash2, AttentionKernel::cudnn, AttentionKernel::unfused}) {
    const spec::Job j = toy_mla({.attention = kernel});
    const plan::Plan p = plan::build(j);
    std::int64_t sum = 0;
    for (const plan::Call& call : p.roles[0].calls) {
      for (const plan::MemoryChange& change : p.segments[call.segment].memory) sum += change.bytes;
    }
    EXPECT_EQ(sum, 0);
  }
}

TEST(Mla, FlashAttention2PadsNarrowValues) {
  const auto narrow = [](spec::Job& j) {
    latent(j);
    j.model.mla->value_head_dim = 16;
  };
  const spec::Job padded = toy::job({}, narrow), cudnn = toy::job({.attention = AttentionKernel::cudnn}, narrow);
  EXPECT_TRUE(plan::pads_values(plan::Context(padded)));
  EXPECT_FALSE(plan::pads_values(plan::Context(cudnn)));
  const plan::Plan p = plan::build(padded);
  EXPECT_EQ(walk::count(p, p.roles[0], "attention output cut"), 2 * 4);  // forward and backward of 4 layers
}

}  // namespace
