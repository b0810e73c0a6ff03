// tests/core/plan/selective_ops_test.cpp -- every second matmul again: what is kept and what is computed.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/plan/block.h"
#include "core/plan/flops.h"
#include "tests/core/plan/walk.h"

namespace {

using Kind = spec::Recompute::Kind;

/// Gated, 8 heads of 32 and 2 kv_heads: the matmuls of a Llama's block.
spec::Job llama(toy::Cut cut, bool compiled = false) {
  return toy::job(cut, [&](spec::Job& j) {
    j.model.gated_mlp = true;
    j.model.kv_heads = 2;
    j.model.norm = spec::Norm::rmsnorm;
    j.model.position = spec::Position::rope;
    j.model.bias = false;
    j.strategy.compile = compiled;
  });
}

std::int64_t kept(const spec::Job& j) { return plan::kept_activations(plan::Context(j), Kind::selective_ops).total(); }

TEST(SelectiveOps, ComputeKeysOutputAndUpAgain) {
  // 2 s h (kv + q + ffn) = 2 x 128 x 256 (64 + 256 + 1024) = 88080384.
  const spec::Job j = llama({.recompute = {Kind::selective_ops}});
  const plan::Context c(j);
  walk::Pen pen;
  plan::Block(c, pen.out).backward(Kind::selective_ops, false);
  EXPECT_EQ(walk::flops(pen.plan, pen.out.finish(), plan::Phase::recompute), 88080384);
  EXPECT_DOUBLE_EQ(plan::hardware_flops(j) - plan::model_flops(j), 4 * 88080384.0);
}

TEST(SelectiveOps, OfAnUngatedBlockComputeKeysAndOutputAgain) {
  // The sixth matmul, down, would be next, but nothing needs its result: 2 x 128 x 256 (256 + 256) = 33554432.
  const spec::Job j = toy::job({.recompute = {Kind::selective_ops}});
  const plan::Context c(j);
  walk::Pen pen;
  plan::Block(c, pen.out).backward(Kind::selective_ops, false);
  EXPECT_EQ(walk::flops(pen.plan, pen.out.finish(), plan::Phase::recompute), 33554432);
  EXPECT_DOUBLE_EQ(plan::hardware_flops(j) - plan::model_flops(j), 4 * 33554432.0);
}

TEST(SelectiveOps, KeepEveryOddMatmulAndTheAttention) {
  // Elements a token: input 256, q 256, v 64, attention 256, gate 1024, down 256; 2 bytes; 8 heads' fp32 statistics.
  EXPECT_EQ(kept(llama({})), 128 * ((256 + 256 + 64 + 256 + 1024 + 256) * 2 + 8 * 4));
  // A compiler drops the last matmul's result, which no backward reads.
  EXPECT_EQ(kept(llama({}, true)), 128 * ((256 + 256 + 64 + 256 + 1024) * 2 + 8 * 4));
}

TEST(SelectiveOps, UnderSequenceParallelKeepWhatWasScattered) {
  // tp 2: input and the attention's reduce-scatter on half of the tokens, the rest of half the width.
  EXPECT_EQ(kept(llama({.tp = 2, .sp = true}, true)), 128 * ((128 + 128 + 128 + 32 + 128 + 512) * 2 + 4 * 4));
}

TEST(SelectiveOps, KeepLessThanEverythingAndMoreThanTheInput) {
  walk::Dice dice(41);
  for (int n = 0; n < 200; ++n) {
    spec::Job j = walk::random_job(dice);
    j.strategy.compile = true;
    const plan::Context c(j);
    EXPECT_LE(kept(j), plan::kept_activations(c, Kind::none).total()) << walk::told(j);
    EXPECT_GT(kept(j), plan::kept_activations(c, Kind::full).total()) << walk::told(j);
  }
}

}  // namespace
