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
std::int64_t flat(const toy::Cut& cut, double bucket, const auto& with) {
  const spec::Job job = toy::job(cut, [&](spec::Job& j) {
    j.framework.fragmentation = 0.1;  // it has a caching allocator
    j.framework.optimizer_workspace = 4;
    j.framework.flat_workspace = true;
    j.framework.gradient_bucket = base::Bytes(bucket);
    j.training.micro_batch = 64;  // activations make the peak
    j.training.global_batch = 64 * cut.dp;
    with(j);
  });
  const plan::Plan plan = plan::build(job);
  return sim::behind_activations(plan, plan.roles.front(), job, sim::peak_of(plan, plan.roles.front()));
}

std::int64_t flat(const toy::Cut& cut, double bucket) {
  return flat(cut, bucket, [](spec::Job&) {});
}

// Two tables of 2048 rows and 128 positions, 4 blocks of 12 h^2 + 13 h, the final norm.
constexpr std::int64_t h = 256, kParameters = (2 * 2048 + 128) * h + 4 * (12 * h * h + 13 * h) + 2 * h;

TEST(BehindActivations, ABucketAndTheOptimizersWorkspaceAreOnePieceEach) {
  EXPECT_EQ(flat({}, 1e6), 4 * kParameters);  // nobody to reduce with
  EXPECT_EQ(flat({.dp = 2}, 1e6), 4 * kParameters + 1'000'000);
  EXPECT_EQ(flat({.dp = 2, .zero = 1}, 1e6), 2 * kParameters + 1'000'000);
  // A bucket's segment is free when the step begins: a workspace that fits takes it. No bucket is larger than all.
  EXPECT_EQ(flat({.dp = 2, .zero = 1}, 1e12), 4 * kParameters);
  EXPECT_EQ(flat({.dp = 2, .zero = 2}, 1e6), 2 * kParameters);  // counted as communication
  EXPECT_EQ(flat({.dp = 2}, 1e6, [](spec::Job& j) { j.framework.flat_workspace = false; }), 0);
  EXPECT_EQ(flat({.dp = 2}, 1e6, [](spec::Job& j) { j.framework.fragmentation = 0; }), 0);
}

TEST(BehindActivations, SixteenBitGradientsAreFlattenedBeforeTheyAreCast) {
  const auto halves = [](spec::Job& j) { j.training.gradient_dtype = spec::Dtype::bf16; };
  EXPECT_EQ(flat({}, 1e6, halves), (2 + 4) * kParameters);
  // The flat tensor of a half of them in 16 bits takes the segment of a bucket of that size.
  EXPECT_EQ(flat({.dp = 2, .zero = 1}, static_cast<double>(kParameters), halves), (1 + 2) * kParameters);
}

TEST(BehindActivations, ATablesGradientIsOnePieceWhereNothingWiderWasFreed) {
  const auto table = [](int micro_batch, int pp) {
    const spec::Job job = toy::job({.pp = pp, .microbatches = 4}, [&](spec::Job& j) {
      j.framework.fragmentation = 0.1;
      j.training.micro_batch = micro_batch;
      j.training.global_batch = 4 * micro_batch;
    });
    const plan::Plan plan = plan::build(job);
    return sim::behind_activations(plan, plan.roles.front(), job, sim::peak_of(plan, plan.roles.front()));
  };
  // 2048 rows of 256 in bf16. A layer writes 128 tokens of 1024 numbers a sequence, four times as wide as a row.
  EXPECT_EQ(table(1, 2), 2048 * h * 2);
  EXPECT_EQ(table(3, 2), 2048 * h * 2);
  EXPECT_EQ(table(4, 2), 0);  // as large
  EXPECT_EQ(table(4, 1), 0);
}

TEST(TooNarrowForLogits, IsWhatALayerHadForItselfBeforeTheLossMadeThePeak) {
  const auto narrow = [](std::int64_t vocab, spec::Recompute::Kind kind, int pp = 1) {
    const spec::Job job = toy::job({.pp = pp, .microbatches = 4, .recompute = {kind}}, [&](spec::Job& j) {
      j.framework.fragmentation = 0.1;
      j.model.vocab = vocab;
      j.training.micro_batch = 64;
      j.training.global_batch = 256;
    });
    const plan::Plan plan = plan::build(job);
    return sim::too_narrow_for_logits(plan, plan.roles.front(), job, sim::peak_of(plan, plan.roles.front()));
  };
  using enum spec::Recompute::Kind;
  // Of a layer that is recomputed, the feed-forward: 64 x 128 tokens of 1024 numbers, before and behind the activation.
  EXPECT_EQ(narrow(32768, full), 64 * 128 * 2 * 1024 * 2);
  EXPECT_EQ(narrow(32768, none), 0);     // everything is kept
  EXPECT_EQ(narrow(512, full), 0);       // logits are narrower than a layer
  EXPECT_EQ(narrow(32768, full, 2), 0);  // the loss is another stage's
}

}  // namespace
