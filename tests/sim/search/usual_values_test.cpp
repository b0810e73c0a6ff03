// tests/sim/search/usual_values_test.cpp -- no two values of a key make the same strategy: what a network or a mode
// does not know is not searched. SPDX-License-Identifier: Apache-2.0
#include "sim/search/usual_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/layer_toy.h"

namespace {

using spec::SearchKey;
using testing::ElementsAre;
using testing::SizeIs;

spec::Job serving(spec::Mode mode) {
  spec::Job job = toy::draft({.dp = 8, .micro_batch = 512});
  job.training.mode = mode;
  job.strategy.dp = 8;
  return job;
}

bool tells(const spec::Job& job, std::string_view key) {
  for (const auto& [left, reason] : sim::left_out(job, {})) {
    if (left == key) return true;
  }
  return false;
}

TEST(UsualValues, ANetworkWithoutAttentionHasOneKernelForIt) {
  EXPECT_THAT(sim::usual_values(SearchKey::attention_kernel, layer_toy::draft(2, 1, 4)), SizeIs(1));
}

TEST(UsualValues, NoCutIsOfferedThatAListOfLayersRefuses) {
  for (const char* key : {"tp", "cp", "schedule", "stage_layers", "recompute", "offload", "zero"}) {
    EXPECT_FALSE(tells(layer_toy::draft(2, 1, 4), key)) << key;
  }
}

TEST(UsualValues, MegatronComputesModulesAgain) {
  spec::Job job = toy::draft({.dp = 8});
  job.strategy.attention_kernel = spec::AttentionKernel::flash2;
  const auto texts = [&] {
    std::vector<std::string> out;
    for (const spec::SearchValue value : sim::usual_values(SearchKey::recompute, job)) {
      out.push_back(spec::value_text(SearchKey::recompute, value));
    }
    return out;
  };
  EXPECT_THAT(texts(), ElementsAre("none", "full"));
  job.framework.recomputes_by_modules = true;
  EXPECT_THAT(texts(), ElementsAre("none", "{kind: selective, modules: [layernorm, mlp]}", "full"));
  job.model.moe.emplace();
  EXPECT_THAT(texts(), ElementsAre("none", "{kind: selective, modules: [layernorm, moe_act]}", "full"));
}

TEST(UsualValues, WithoutABackwardNothingIsComputedAgainOrSharded) {
  for (const spec::Mode mode : {spec::Mode::prefill, spec::Mode::decode}) {
    const spec::Job job = serving(mode);
    EXPECT_THAT(sim::usual_values(SearchKey::recompute, job),
                ElementsAre(static_cast<spec::SearchValue>(spec::Recompute::Kind::none)));
    EXPECT_THAT(sim::usual_values(SearchKey::zero, job), ElementsAre(0));
    EXPECT_FALSE(tells(job, "recompute"));
    EXPECT_FALSE(tells(job, "zero"));
  }
  spec::Job training = serving(spec::Mode::train);
  training.strategy.attention_kernel = spec::AttentionKernel::unfused;
  EXPECT_THAT(sim::usual_values(SearchKey::recompute, training), SizeIs(3));
  training.strategy.attention_kernel = spec::AttentionKernel::flash2;  // whose scores were never written
  EXPECT_THAT(sim::usual_values(SearchKey::recompute, training), SizeIs(2));
  EXPECT_THAT(sim::usual_values(SearchKey::zero, training), ElementsAre(0, 1, 2, 3));
}

TEST(UsualValues, WhatTheHostUpdatesIsAShardEvenOfOneRank) {
  spec::Job job = serving(spec::Mode::train);
  job.strategy.dp = 1;
  EXPECT_THAT(sim::usual_values(SearchKey::zero, job), ElementsAre(0));
  job.strategy.offload.optimizer = spec::Offload::To::cpu;
  EXPECT_THAT(sim::usual_values(SearchKey::zero, job), ElementsAre(0, 1, 2, 3));
}

TEST(UsualValues, DecodingReadsItsCacheAtOnePace) {
  // Whatever the kernel is called, and whatever way a prompt was cut.
  spec::Job job = serving(spec::Mode::decode);
  EXPECT_THAT(sim::usual_values(SearchKey::attention_kernel, job), SizeIs(1));
  job.strategy.cp = 2;
  EXPECT_THAT(sim::usual_values(SearchKey::cp_kind, job), SizeIs(1));
  job.training.mode = spec::Mode::prefill;
  EXPECT_THAT(sim::usual_values(SearchKey::cp_kind, job), SizeIs(3));
}

TEST(UsualValues, AServedBatchMayBeOneMicrobatch) {
  // 8 x 512 = 4096 sequences: powers of two up to 1024 when they are served, up to 8 when they are trained on.
  EXPECT_THAT(sim::usual_values(SearchKey::micro_batch, serving(spec::Mode::decode)),
              ElementsAre(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024));
  EXPECT_THAT(sim::usual_values(SearchKey::micro_batch, serving(spec::Mode::train)), ElementsAre(1, 2, 4, 8));
}

TEST(UsualValues, ABatchOfSamplesMayBeOneMicrobatch) {
  // 2 x 1 x 16 = 32 samples.
  EXPECT_THAT(sim::usual_values(SearchKey::micro_batch, layer_toy::draft(2, 1, 16)), ElementsAre(1, 2, 4, 8, 16, 32));
}

TEST(UsualValues, LargerMicrobatchesAreToldWhereABatchHasThem) {
  spec::Job job = serving(spec::Mode::train);
  EXPECT_TRUE(tells(job, "micro_batch"));
  job.training.global_batch = 8;
  EXPECT_FALSE(tells(job, "micro_batch"));
}

// What a framework overlaps by itself is tried; what it can be told to do beside is named with the flag that tries it.
TEST(UsualValues, TheOtherOverlapOfTensorParallelismIsNamed) {
  const spec::Job job = toy::draft({.dp = 8, .micro_batch = 1});
  ASSERT_FALSE(job.framework.shards_by_dtensor);
  for (const auto& [left, reason] : sim::left_out(job, {})) {
    if (left == "overlap.tp") {
      EXPECT_EQ(reason, "userbuffers: --allow overlap.tp=none,userbuffers");
    }
  }
  EXPECT_TRUE(tells(job, "overlap.tp"));
  spec::SearchSpace said;
  said[SearchKey::overlap_tp] = {0};
  for (const auto& [left, reason] : sim::left_out(job, said)) EXPECT_NE(left, "overlap.tp");
  EXPECT_FALSE(tells(serving(spec::Mode::decode), "overlap.tp"));
  EXPECT_FALSE(tells(layer_toy::draft(2, 1, 4), "overlap.tp"));
}

}  // namespace
