// tests/real/measure/supported_test.cpp -- tests real/measure/supported.h: refused by name, before a GPU is looked for.
// SPDX-License-Identifier: Apache-2.0
#include "real/measure/supported.h"

#include <gtest/gtest.h>

#include "core/plan/build.h"
#include "tests/real/executor/tiny.h"

namespace {

std::vector<std::string> refused(const spec::Job& draft, int ranks) {
  const spec::Job job = toy::resolved(draft);
  std::vector<std::string> out;
  for (const base::Fault& fault : real::unsupported_on_gpu(job, plan::build(job), ranks)) out.push_back(fault.field);
  return out;
}

using Fields = std::vector<std::string>;

TEST(SupportedOnGpu, ATinyModelIsWithAsManyRanksAsItIsCutFor) {
  EXPECT_EQ(refused(tiny::draft(tiny::llama(), {.tp = 2}), 2), Fields{});
  EXPECT_EQ(refused(tiny::draft(tiny::llama(), {.tp = 2}), 1), Fields{"--gpus"});
}

/// Of a job of one rank that says something else than the Plan was made of.
template <class Change>
Fields refused_after(Change change) {
  spec::Job job = toy::resolved(tiny::draft(tiny::llama(), {}));
  const plan::Plan plan = plan::build(job);
  change(job);
  Fields out;
  for (const base::Fault& fault : real::unsupported_on_gpu(job, plan, 1)) out.push_back(fault.field);
  return out;
}

TEST(SupportedOnGpu, NumbersThatTheKernelsDoNotComputeInAreNot) {
  for (const spec::Dtype dtype : {spec::Dtype::fp16, spec::Dtype::fp32, spec::Dtype::tf32}) {
    EXPECT_EQ(refused_after([&](spec::Job& job) { job.training.precision = dtype; }), Fields{"training.precision"});
  }
  EXPECT_EQ(refused_after([](spec::Job& job) { job.training.precision = spec::Dtype::bf16; }), Fields{});
}

TEST(SupportedOnGpu, HeadsOf256AreAndLargerOnesAreNot) {
  EXPECT_EQ(refused_after([](spec::Job& job) { job.model.head_dim = 256; }), Fields{});
  EXPECT_EQ(refused_after([](spec::Job& job) { job.model.head_dim = 257; }), Fields{"model.head_dim"});
}

TEST(SupportedOnGpu, DeepEpIsOnOneRankWhereNothingIsExchanged) {
  const auto exchange = [](spec::MoeDispatcher way, int ep) {
    spec::Job job = tiny::draft(tiny::moe(), {.dp = ep});
    job.strategy.moe_dispatcher = way;
    job.strategy.ep = ep;
    return refused(job, ep);
  };
  EXPECT_EQ(exchange(spec::MoeDispatcher::deepep, 1), Fields{});
  EXPECT_EQ(exchange(spec::MoeDispatcher::deepep, 2), Fields{"strategy.moe_dispatcher"});
  EXPECT_EQ(exchange(spec::MoeDispatcher::allgather, 2), Fields{});
}

TEST(SupportedOnGpu, WhatRealModeRefusesAltogetherIsRefusedHereToo) {
  spec::Job job = tiny::draft(tiny::llama(), {});
  job.training.moments_dtype = spec::Dtype::fp16;
  EXPECT_EQ(refused(job, 1), Fields{"training.moments_dtype"});
}

}  // namespace
