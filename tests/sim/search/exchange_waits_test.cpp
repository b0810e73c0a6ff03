// tests/sim/search/exchange_waits_test.cpp -- what exchanges wait behind a step's passes, by hand; two_level_test.cpp
// has them against every operator. SPDX-License-Identifier: Apache-2.0
#include "sim/search/exchange_waits.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sim/search/step_end.h"

namespace {

constexpr double kJitter = 0.02, kOfTwo = 0.5641895835;  // 1 / sqrt(pi): the expected maximum of two standard normals

/// Kernels whose squares come to 4 s^2 a forward and 9 s^2 a backward.
sim::ChunkTimes chunk() { return {.forward = {.squares = 4}, .backward = {.squares = 9}, .weights = {}}; }

constexpr auto kDp = static_cast<std::size_t>(plan::Stream::dp);
constexpr auto kReplicate = static_cast<std::size_t>(plan::Stream::replicate);

double waited(double squares) { return kJitter * kOfTwo * std::sqrt(squares); }

TEST(ExchangeWaits, ReductionsWaitBehindTheWholeStepAndBehindOneAnother) {
  // Three microbatches on one stage: three forwards and two backwards and a third of the last one are behind the
  // kernels that the first reduction waits for, 3 x 4 + 2 x 9 + 3; another third the second; a third is left.
  std::vector<sim::ChunkTimes> chunks{chunk()};
  chunks[0].reductions = {{1.0 / 3, 10, 2}, {2.0 / 3, 10, 2}};
  const sim::PipelineShape shape = sim::pipeline_shape({.stages = 1, .microbatches = 3});
  EXPECT_NEAR(sim::wait_for_the_latest(shape, 0, chunks, kJitter)[kDp], 3, 1e-9);
  EXPECT_NEAR(chunks[0].reductions[0].time, 10 + waited(33), 1e-9);
  EXPECT_NEAR(chunks[0].reductions[1].time, 10 + waited(3), 1e-9);
}

TEST(ExchangeWaits, AGatherWaitsForTheKernelsAheadOfItsPart) {
  // Of the first forward: none ahead of the first half's parameters, half of it ahead of the second's. Behind them the
  // other half, another forward and two backwards.
  std::vector<sim::ChunkTimes> chunks{chunk()};
  chunks[0].gathers = {{0.5, 1, 2}, {1, 1, 2}};
  const sim::PipelineShape shape = sim::pipeline_shape({.stages = 1, .microbatches = 2});
  EXPECT_NEAR(sim::wait_for_the_latest(shape, 0, chunks, kJitter)[kDp], 2 + 4 + 18, 1e-9);
  EXPECT_DOUBLE_EQ(chunks[0].gathers[0].time, 1);
  EXPECT_NEAR(chunks[0].gathers[1].time, 1 + waited(2), 1e-9);
}

TEST(ExchangeWaits, WithoutExchangesAllKernelsAreLeft) {
  // Weight gradients apart count as well: 8 x (4 + 9 + 1), on the last of four stages too.
  std::vector<sim::ChunkTimes> chunks{chunk()};
  chunks[0].weights.squares = 1;
  const sim::PipelineShape shape =
      sim::pipeline_shape({.schedule = spec::Schedule::zb_h1, .stages = 4, .microbatches = 8});
  for (const int stage : {0, 3}) EXPECT_NEAR(sim::wait_for_the_latest(shape, stage, chunks, kJitter)[kDp], 112, 1e-9);
}

TEST(ExchangeWaits, EachExchangeHasItsRanksAndItsStream) {
  // Behind 4 + 9 s^2: experts' gradients find nobody late behind those of the dense layers, sums over replicas do, and
  // one rank waits for nobody.
  std::vector<sim::ChunkTimes> chunks{chunk()};
  chunks[0].reductions = {{1, 1, 2}, {1, 1, 4}, {1, 1, 2, plan::Stream::replicate}};
  std::vector<sim::ChunkTimes> alone{chunk()};
  alone[0].reductions = {{1, 1, 1}};
  const sim::PipelineShape shape = sim::pipeline_shape({.stages = 1, .microbatches = 1});
  sim::wait_for_the_latest(shape, 0, chunks, kJitter);
  EXPECT_NEAR(chunks[0].reductions[0].time, 1 + waited(13), 1e-9);
  EXPECT_DOUBLE_EQ(chunks[0].reductions[1].time, 1);
  EXPECT_NEAR(chunks[0].reductions[2].time, 1 + waited(13), 1e-9);
  sim::wait_for_the_latest(shape, 0, alone, kJitter);
  EXPECT_DOUBLE_EQ(alone[0].reductions[0].time, 1);
}

TEST(ExchangeWaits, TheFirstCollectivesOfAStepsEndTakeWhatIsLeft) {
  // A kernel of 4 s (16 s^2) ahead of the all-reduce of the norm, behind passes of 9 s^2: sqrt(25); of 20 on the stream
  // of replicas: sqrt(36). What follows is not the first, and other axes had theirs in the passes.
  sim::Step kernel, shared, norm, replicas;
  kernel.duration = 4'000'000'000'000;
  kernel.resources = sim::resource::kCompute;
  shared.stream = static_cast<std::uint8_t>(plan::Stream::tp);
  norm.stream = static_cast<std::uint8_t>(plan::Stream::dp);
  replicas.stream = static_cast<std::uint8_t>(plan::Stream::replicate);
  shared.members = norm.members = replicas.members = 2;
  sim::StageEnds ends;
  ends.steps = {kernel, shared, norm, norm, replicas};
  ends.jitter = kJitter;
  sim::Squares squares{};
  squares[kDp] = 9;
  squares[kReplicate] = 20;
  sim::wait_for_the_latest(ends, squares);
  EXPECT_NEAR(trace::seconds(ends.steps[2].wait), waited(25), 1e-9);
  EXPECT_NEAR(trace::seconds(ends.steps[4].wait), waited(36), 1e-9);
  for (const int other : {0, 1, 3}) EXPECT_EQ(ends.steps[static_cast<std::size_t>(other)].wait, 0);
}

}  // namespace
