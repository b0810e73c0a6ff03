// tests/sim/host_bound_test.cpp -- who waits for the host is told so.
// SPDX-License-Identifier: Apache-2.0
#include "sim/host_bound.h"

#include <gtest/gtest.h>

#include "sim/predict.h"
#include "tests/support/toy.h"

namespace {

std::string warned(double launch_us, bool experts) {
  const spec::Job job = toy::job({}, [&](spec::Job& j) {
    j.framework.launch = j.framework.backward_launch = base::us(launch_us);
    if (!experts) return;
    j.model.moe = spec::Moe{.experts = 4, .top_k = 2, .ffn = 512};
    j.framework.expert_launch = base::us(launch_us);
  });
  return sim::host_bound(job, sim::predict(job).prediction).value_or("");
}

TEST(HostBound, IsToldWithWhatHelps) {
  EXPECT_EQ(warned(0, false), "");
  // 10 ms a launch, and kernels of microseconds.
  EXPECT_EQ(
      warned(10'000, false),
      "the GPUs wait for their host in 100 % of the step: larger microbatches, cuda_graphs: true or compile: true "
      "leave it less to launch");
  EXPECT_TRUE(warned(10'000, true).ends_with("expert_launch: 0us, grouped_mm: true} where yours runs them at once"));
}

TEST(HostBound, OnlyWhatTheFrameworkCanDoIsAdvised) {
  const auto helps = [](const char* launcher, int tp, bool experts, bool done) {
    const spec::Job job = toy::job({.tp = tp}, [&](spec::Job& j) {
      j.framework.launch = j.framework.backward_launch = j.framework.compiled_launch = base::us(10'000);
      j.framework.launcher = launcher;
      if (experts) j.model.moe = spec::Moe{.experts = 4, .top_k = 2, .ffn = 512};
      j.strategy.compile = done;
    });
    const std::string told = sim::host_bound(job, sim::predict(job).prediction).value_or("");
    const std::size_t from = told.find(": ") + 2, to = told.find(" leave it less to launch");
    return told.substr(from, to - from);
  };
  EXPECT_EQ(helps("megatron", 2, false, false), "larger microbatches or cuda_graphs: true");
  EXPECT_EQ(helps("megatron", 1, true, false), "larger microbatches or cuda_graphs: beside_experts");
  EXPECT_EQ(helps("torchtitan", 2, false, false), "larger microbatches or compile: true");
  EXPECT_EQ(helps("accelerate-fsdp", 1, false, true), "larger microbatches");
  EXPECT_EQ(helps("deepspeed", 2, false, false), "larger microbatches or fewer tensor-parallel ranks");
  EXPECT_EQ(helps("deepspeed", 1, false, false), "larger microbatches");
}

TEST(HostBound, WhatAStepTakesOnceIsNoLaunch) {
  // 1 s once a step, and launches that hide: larger microbatches would not make it less.
  const spec::Job job = toy::job({}, [](spec::Job& j) {
    j.framework.name = "toys";
    j.framework.step = base::s(1);
  });
  EXPECT_EQ(sim::host_bound(job, sim::predict(job).prediction).value_or(""),
            "the GPUs wait for their host in 100 % of the step: toys takes 1.00 s of it once a step (framework.step), "
            "however large the batch is: a larger global_batch has fewer steps");
}

}  // namespace
