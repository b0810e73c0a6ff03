// tests/real/memory/cpu_ledger_test.cpp -- the CPU's tensors as a GPU would hold them, beside the Plan's ledger.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "real/cpu/cpu_backend.h"
#include "real/cpu/train.h"
#include "real/launch/world.h"
#include "tests/real/executor/fp8_jobs.h"
#include "tests/real/executor/tiny.h"

namespace {

using plan::Category;

std::int64_t of(const real::Ledger::ByCategory& bytes, Category category) {
  return bytes[static_cast<std::size_t>(category)];
}

TEST(CpuLedger, TensorsCountInTheWidthsOfAGpuWhileTheyAreHeld) {
  // 10 weights of bf16 are 20 bytes, 5 states of fp32 as many; a part holds the whole.
  std::vector<real::World> worlds = real::in_process(1);
  real::CpuBackend backend(worlds[0]);
  real::Tensor weights = backend.allocate(10, real::kWeight);
  const real::Tensor states = backend.allocate(5, real::kState);
  EXPECT_EQ(of(backend.ledger().now(), Category::parameters), 20);
  EXPECT_EQ(of(backend.ledger().now(), Category::optimizer), 20);
  real::Tensor part = weights.part(2, 3);
  weights = {};
  EXPECT_EQ(backend.ledger().total(), 40);
  part = {};
  EXPECT_EQ(backend.ledger().total(), 20);
  EXPECT_EQ(backend.ledger().peak(), 40);
}

TEST(CpuLedger, WhatLeavesForTheHostIsNotCounted) {
  std::vector<real::World> worlds = real::in_process(1);
  real::CpuBackend backend(worlds[0]);
  const real::Tensor away = backend.to_host(backend.upload(std::vector<double>{1, 2, 3}));
  EXPECT_EQ(backend.ledger().total(), 0);
  EXPECT_EQ(backend.ledger().peak(), 12);
}

TEST(CpuLedger, ATensorMayOutliveItsBackend) {
  std::vector<real::World> worlds = real::in_process(1);
  real::Tensor left;
  {
    real::CpuBackend backend(worlds[0]);
    left = backend.allocate(1, real::kWeight);
  }
  EXPECT_EQ(left.count, 1);
  left = {};
}

TEST(CpuLedger, WeightsAndStatesOfARunAreThoseOfThePlan) {
  const spec::Job job = toy::resolved(tiny::draft(tiny::llama(), {.tp = 2, .sp = true, .pp = 2}));
  const plan::Plan plan = plan::build(job);
  const real::MemoryUse use = real::train_on_cpu(job, plan, tiny::tokens(job), {}, 2).memory;
  for (const Category category : {Category::parameters, Category::optimizer}) {
    EXPECT_GT(of(use.measured, category), 0);
    EXPECT_EQ(of(use.measured, category), of(use.planned, category));
  }
  EXPECT_GT(of(use.measured, Category::activations), 0);
  EXPECT_EQ(use.reserved, 0);
}

TEST(CpuLedger, StatesOfEveryOptimizerAreThoseOfThePlan) {
  using enum spec::Optimizer;
  using spec::Dtype;
  const std::vector<std::pair<spec::Optimizer, Dtype>> all{
      {adamw, Dtype::fp32}, {adamw, Dtype::bf16}, {sgd, Dtype::fp32}, {sgd, Dtype::bf16}, {adamw8bit, Dtype::fp32}};
  for (const auto& [optimizer, moments] : all) {
    for (const int zero : {0, 1, 2, 3}) {
      SCOPED_TRACE(std::string(spec::name(optimizer)) + " under zero " + std::to_string(zero));
      spec::Job draft = tiny::draft(tiny::wide(tiny::llama()), {.dp = 2, .zero = zero}, 2);
      draft.training.optimizer = optimizer;
      draft.training.moments_dtype = moments;
      const spec::Job job = toy::resolved(draft);
      const plan::Plan plan = plan::build(job);
      const real::MemoryUse use = real::train_on_cpu(job, plan, tiny::tokens(job), {}, 2).memory;
      EXPECT_EQ(of(use.measured, Category::optimizer), plan.roles[0].resident[static_cast<int>(Category::optimizer)]);
    }
  }
}

TEST(CpuLedger, WeightsInFp8AloneAreThoseOfThePlan) {
  // Codes in one layout on Blackwell and two before it. The Plan counts a layer's norms, 2 of 16 numbers, as if they
  // were gone with the 16 bits of its weights: 2 bytes for each.
  for (const auto generation : {spec::Generation::hopper, spec::Generation::blackwell}) {
    const spec::Job job = fp8_jobs::job_of("tensorwise", {.dp = 2, .zero = 1}, [&](spec::Job& draft) {
      draft.training.fp8_parameters = true;
      draft.cluster.node.gpu.generation = generation;
    });
    const plan::Plan plan = plan::build(job);
    const real::MemoryUse use = real::train_on_cpu(job, plan, tiny::tokens(job), {}, 2).memory;
    EXPECT_EQ(of(use.measured, Category::parameters), of(use.planned, Category::parameters) + 2 * 2 * 16 * 2);
  }
}

/// Beside what is kept there are the tensors of the one layer that goes backward, each gradient apart. So four layers
/// more cost what the Plan says, and the mean and inverse root of 2 norms for each of 8 tokens, of 4 bytes.
TEST(CpuLedger, ALayerKeepsWhatThePlanSays) {
  const auto activations = [](int layers, spec::Recompute::Kind kind) {
    spec::Job draft = tiny::draft(tiny::llama(layers), {});
    draft.strategy.recompute.kind = kind;
    const spec::Job job = toy::resolved(draft);
    const real::MemoryUse use = real::train_on_cpu(job, plan::build(job), tiny::tokens(job), {}, 2).memory;
    return std::pair(of(use.measured, Category::activations), of(use.planned, Category::activations));
  };
  for (const auto kind : {spec::Recompute::Kind::none, spec::Recompute::Kind::full}) {
    const auto four = activations(4, kind), eight = activations(8, kind);
    const std::int64_t statistics = kind == spec::Recompute::Kind::none ? 4 * 2 * 2 * 8 * 4 : 0;
    EXPECT_EQ(eight.first - four.first, eight.second - four.second + statistics);
  }
}

// Shards are summed over the groups where a group's reduce-scatter has left them, and stay nowhere.
TEST(CpuLedger, GroupsThatShareTakeNoMoreThanOneOfThem) {
  const auto peak = [](int zero, int groups) {
    spec::Job draft = tiny::draft(tiny::llama(4), {.dp = 2 * groups, .zero = zero}, 4 * groups);
    if (groups > 1) draft.strategy.shard = 2;
    const spec::Job job = toy::resolved(draft);
    return real::train_on_cpu(job, plan::build(job), tiny::tokens(job), {}, 2).memory.measured;
  };
  for (const int zero : {1, 2, 3}) EXPECT_EQ(peak(zero, 2), peak(zero, 1)) << zero;
}

}  // namespace
