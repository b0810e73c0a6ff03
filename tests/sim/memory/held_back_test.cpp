// tests/sim/memory/held_back_test.cpp -- what the caching allocator has and gives away last.
// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/held_back.h"

#include <gtest/gtest.h>

#include "core/plan/build.h"
#include "sim/memory/footprint.h"
#include "tests/support/toy.h"

namespace {

constexpr std::int64_t kSequence = 128 * 256 * 2;  // one tensor of all 128 tokens of 256 in bf16

spec::Job asynchronous(const toy::Cut& cut, const auto& with) {
  return toy::job(cut, [&](spec::Job& j) {
    j.framework.records_streams = j.framework.synchronizes_p2p = true;
    j.strategy.overlap.tp = spec::TpOverlap::chunked;
    with(j);
  });
}

std::int64_t awaiting(const toy::Cut& cut, const auto& with) {
  const spec::Job job = asynchronous(cut, with);
  const plan::Plan plan = plan::build(job);
  return sim::awaiting_device(plan, plan.roles.front(), job);
}

TEST(AwaitingDevice, IsWhatAForwardPassGathersBesideItsMatmuls) {
  const auto as_is = [](spec::Job&) {};
  // Inputs of qkv and of the first feed-forward matmul in 4 layers, and of the head.
  EXPECT_EQ(awaiting({.tp = 4, .sp = true}, as_is), (4 * 2 + 1) * kSequence);
  // Recomputation gathers again, when the backward pass frees more than it takes.
  EXPECT_EQ(awaiting({.tp = 4, .sp = true, .recompute = {spec::Recompute::Kind::full}}, as_is), 9 * kSequence);
  EXPECT_EQ(awaiting({.tp = 4}, as_is), 0);  // an all-reduce gathers nothing
  EXPECT_EQ(awaiting({.tp = 4, .sp = true}, [](spec::Job& j) { j.strategy.overlap.tp = spec::TpOverlap::none; }), 0);
  EXPECT_EQ(awaiting({.tp = 4, .sp = true}, [](spec::Job& j) { j.framework.records_streams = false; }), 0);
}

TEST(AwaitingDevice, IsNothingWhereTheHostWaits) {
  const toy::Cut pipeline{.tp = 4, .sp = true, .pp = 2, .microbatches = 4};
  EXPECT_EQ(awaiting(pipeline, [](spec::Job&) {}), 0);
  // Two of the layers stand on each of two stages; the head stands on the other.
  EXPECT_EQ(awaiting(pipeline, [](spec::Job& j) { j.framework.synchronizes_p2p = false; }), 2 * 2 * kSequence);
  EXPECT_EQ(awaiting({.tp = 4, .sp = true, .dp = 2, .zero = 3}, [](spec::Job&) {}), 0);
}

TEST(AwaitingDevice, TakesNoMoreThanTheDeviceHasLeft) {
  const auto held = [](base::Bytes room) {
    spec::Job job = asynchronous({.tp = 4, .sp = true}, [](spec::Job&) {});
    const std::int64_t needed = sim::footprints(plan::build(job), job).front().total();
    job.cluster.node.gpu.memory = base::Bytes(static_cast<double>(needed)) + room;
    return sim::footprints(plan::build(job), job).front();
  };
  const sim::Footprint f = held(base::Bytes(1e9));
  EXPECT_EQ(f.held_back, 9 * kSequence);
  EXPECT_EQ(f.held_by_allocator(), f.peak.total() + f.reserved - f.context + 9 * kSequence);
  EXPECT_EQ(f.of_process(), f.total() + 9 * kSequence);
  EXPECT_EQ(held(base::Bytes(1000)).held_back, 1000);
  EXPECT_EQ(held(base::Bytes(-1)).held_back, 0);  // too much as it is
}

/// 4 bytes a parameter in one piece; a bucket of `bucket` bytes before it.
std::int64_t flat(const toy::Cut& cut, double bucket, bool one_piece = true) {
  const spec::Job job = toy::job(cut, [&](spec::Job& j) {
    j.framework.optimizer_workspace = 4;
    j.framework.flat_workspace = one_piece;
    j.framework.gradient_bucket = base::Bytes(bucket);
    j.training.micro_batch = 64;  // activations make the peak
    j.training.global_batch = 64 * cut.dp;
  });
  const plan::Plan plan = plan::build(job);
  return sim::flat_in_step(plan, plan.roles.front(), job, sim::peak_of(plan, plan.roles.front()));
}

TEST(FlatInStep, IsABucketAndTheOptimizersWorkspace) {
  // Two tables of 2048 rows and 128 positions, 4 blocks of 12 h^2 + 13 h, the final norm.
  constexpr std::int64_t h = 256, parameters = (2 * 2048 + 128) * h + 4 * (12 * h * h + 13 * h) + 2 * h;
  EXPECT_EQ(flat({}, 1e6), 4 * parameters);  // nobody to reduce with
  EXPECT_EQ(flat({.dp = 2}, 1e6), 4 * parameters + 1'000'000);
  EXPECT_EQ(flat({.dp = 2, .zero = 1}, 1e6), 2 * parameters + 1'000'000);
  // A bucket's segment is free when the step begins: a workspace that fits takes it. No bucket is larger than all.
  EXPECT_EQ(flat({.dp = 2, .zero = 1}, 1e12), 4 * parameters);
  EXPECT_EQ(flat({.dp = 2, .zero = 2}, 1e6), 2 * parameters);  // counted as communication
  EXPECT_EQ(flat({.dp = 2}, 1e6, false), 0);
}

}  // namespace
