// SPDX-License-Identifier: Apache-2.0
#include "sim/limits/sizes.h"

#include <gtest/gtest.h>

#include "tests/support/toy.h"

namespace {

sim::Size size_of(const spec::Job& job, const std::string& name) {
  for (sim::Size& size : sim::sizes_of(job)) {
    if (size.name == name) return size;
  }
  throw std::out_of_range(name);
}

std::string value_of(const sim::Settings& settings, const std::string& path) {
  for (const auto& [key, value] : settings) {
    if (key == path) return value;
  }
  return "";
}

TEST(Sizes, SequencesAreShared) {
  // 2 x cp 1 x tp 2 = 4 divides 256; 2 x cp 3 x tp 2 = 12 makes it 768.
  spec::Job job = toy::job({.tp = 2});
  EXPECT_EQ(size_of(job, "sequence").row.step, 256);
  job.strategy.cp = 3;
  EXPECT_EQ(size_of(job, "sequence").row.step, 768);
}

TEST(Sizes, TheContextOfADecodeJobStandsForItsSequence) {
  spec::Job job = toy::job({});
  job.training.context = 100;
  const sim::Size size = size_of(job, "context");
  EXPECT_EQ(size.given, 100);
  EXPECT_EQ(value_of(size.settings(512), "training.context"), "512");
}

TEST(Sizes, AMicrobatchKeepsTheirNumber) {
  // Two replicas of 3 microbatches of 2: batch 12; of 5: batch 30.
  const spec::Job job = toy::job({.dp = 2, .microbatches = 3, .micro_batch = 2});
  const sim::Settings five = size_of(job, "micro_batch").settings(5);
  EXPECT_EQ(value_of(five, "training.micro_batch"), "5");
  EXPECT_EQ(value_of(five, "training.global_batch"), "30");
}

TEST(Sizes, LayersGrowByTheChunksOfThePipeline) {
  // 4 layers on 2 stages: 2, 4, 6 ...
  const sim::Size size = size_of(toy::job({.pp = 2, .microbatches = 2}), "layers");
  EXPECT_EQ(size.row.first, 2);
  EXPECT_EQ(size.row.step, 2);
  spec::Job split = toy::job({.pp = 2, .microbatches = 2});
  split.strategy.stage_layers = {1, 3};
  EXPECT_NE(size_of(split, "layers").refusal, "");
}

TEST(Sizes, WidthKeepsTheShape) {
  // 8 heads in 2 groups on 256: 128 columns a group. 5 groups: 20 heads, 640 columns, a feed-forward of 2560; tp 2
  // takes even numbers of groups.
  spec::Job job = toy::job({});
  job.model.kv_heads = 2;
  const sim::Size size = size_of(job, "width");
  EXPECT_EQ(size.row.step, 128);
  const sim::Settings five = size.settings(640);
  EXPECT_EQ(value_of(five, "model.kv_heads"), "5");
  EXPECT_EQ(value_of(five, "model.heads"), "20");
  EXPECT_EQ(value_of(five, "model.hidden"), "640");
  EXPECT_EQ(value_of(five, "model.ffn"), "2560");
  job.strategy.tp = 2;
  EXPECT_EQ(size_of(job, "width").row.step, 256);
  job.strategy.tp = 4;
  EXPECT_NE(size_of(job, "width").refusal, "");
}

}  // namespace
