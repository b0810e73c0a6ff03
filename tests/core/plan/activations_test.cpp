// tests/core/plan/activations_test.cpp -- what a layer keeps for its backward, against Korthikanti et al., arXiv
// 2205.05198. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/plan/block.h"
#include "tests/core/plan/walk.h"

namespace {

using plan::kept_activations;
using Kind = spec::Recompute::Kind;

/// Their setting: 16-bit storage, attention by single kernels with a fused softmax, dropout; b = 3.
spec::Job korthikanti(toy::Cut cut) {
  cut.micro_batch = 3;
  cut.attention = spec::AttentionKernel::fused_softmax;
  return toy::job(cut, [](spec::Job& j) { j.training.dropout = 0.1; });
}

std::int64_t kept(const spec::Job& j, Kind kind) { return kept_activations(plan::Context(j), kind).total(); }

// b = 3, s = 128, h = 256, a = 8, and the two products of the formulas. 5 a s/h = 20.
constexpr std::int64_t b = 3, s = 128, h = 256, a = 8, sbh = s * b * h, scores = 5 * a * s * s * b;

TEST(Activations, OfALayerAreKorthikantisFormula) {
  // Equation 1: s b h (34 + 5 a s/h).
  EXPECT_EQ(kept(korthikanti({}), Kind::none), 34 * sbh + scores);
}

TEST(Activations, UnderTensorParallelKeepNormsDropoutsAndLinearInputsWhole) {
  // Equation 2: s b h (10 + 24/t + 5 a s/(h t)).
  for (const int t : {2, 4, 8}) {
    EXPECT_EQ(kept(korthikanti({.tp = t}), Kind::none), 10 * sbh + 24 * sbh / t + scores / t) << "t " << t;
  }
}

TEST(Activations, UnderSequenceParallelAreDividedWhole) {
  // Equation 4: s b h/t (34 + 5 a s/h).
  for (const int t : {2, 4, 8}) {
    EXPECT_EQ(kept(korthikanti({.tp = t, .sp = true}), Kind::none), (34 * sbh + scores) / t) << "t " << t;
  }
}

TEST(Activations, UnderSelectiveRecomputeLoseTheScores) {
  // Equation 6: s b h 34/t.
  EXPECT_EQ(kept(korthikanti({}), Kind::selective), 34 * sbh);
  EXPECT_EQ(kept(korthikanti({.tp = 4, .sp = true}), Kind::selective), 34 * sbh / 4);
}

TEST(Activations, UnderFullRecomputeAreTheInputOfTheLayer) {
  // Their table 2: 2 s b h; with the sequence cut, each rank has its share.
  EXPECT_EQ(kept(korthikanti({}), Kind::full), 2 * sbh);
  EXPECT_EQ(kept(korthikanti({.tp = 4}), Kind::full), 2 * sbh);
  EXPECT_EQ(kept(korthikanti({.tp = 4, .sp = true}), Kind::full), 2 * sbh / 4);
}

TEST(Activations, WithoutDropoutLoseItsMasksAndTheDroppedScores) {
  // Masks of two residual branches, a byte each; of the scores stays the softmax's result, 2 of 5 bytes.
  const spec::Job j = toy::job({.micro_batch = 3, .attention = spec::AttentionKernel::fused_softmax});
  EXPECT_EQ(kept(j, Kind::none), 32 * sbh + 2 * a * s * s * b);
}

TEST(Activations, OfASoftmaxByTheOperationAreKeptInFp32AndIn16Bits) {
  // Its result, which its backward reads, and the cast of it, which the product with the values reads.
  const spec::Job j = toy::job({.micro_batch = 3, .attention = spec::AttentionKernel::unfused});
  EXPECT_EQ(kept(j, Kind::none), 32 * sbh + (4 + 2) * a * s * s * b);
}

TEST(Activations, OfFlashAttentionAreOneNumberARowInsteadOfTheScores) {
  // The log of the sum of each row's exponentials, fp32: 4 bytes for each token and head, dropout or not; on a rank of
  // four, for its heads only.
  const auto dropout = [](spec::Job& j) { j.training.dropout = 0.1; };
  EXPECT_EQ(kept(toy::job({.micro_batch = 3}, dropout), Kind::none), 34 * sbh + 4 * a * s * b);
  EXPECT_EQ(kept(toy::job({.tp = 4, .sp = true, .micro_batch = 3}, dropout), Kind::none),
            (34 * sbh + 4 * a * s * b) / 4);
  EXPECT_EQ(kept(toy::job({.micro_batch = 3}), Kind::none), 32 * sbh + 4 * a * s * b);
}

TEST(Activations, InSinglePrecisionAreTwiceAsLargeButForTheMasks) {
  const spec::Job j = toy::job({.attention = spec::AttentionKernel::unfused}, [](spec::Job& job) {
    job.training.precision = spec::Dtype::fp32;
    job.training.dropout = 0.1;
  });
  const std::int64_t one = s * h, square = a * s * s;  // b = 1
  EXPECT_EQ(kept(j, Kind::none), 2 * 32 * one + 2 * one + (2 * 4 + 1) * square);
}

TEST(Activations, OfGroupedQueriesKeepNarrowKeysAndValues) {
  // Two of eight heads have keys and values: q, k, v take 2 s b h (1 + 2/4) instead of 2 s b h 3.
  const spec::Job all = toy::job(), grouped = toy::job({}, [](spec::Job&j) { j.model.kv_heads = 2; });
  EXPECT_EQ(kept(all, Kind::none) - kept(grouped, Kind::none), 2 * s * h * 3 / 2);
}

TEST(Activations, OfAGatedFeedForwardKeepBothHalvesAndUnfusedAlsoTheirProductsFactor) {
  // Beside the second matmul's input: up and gate, 2 x 1024 wide; two kernels keep silu(gate) too.
  const auto gated = [](bool fused) {
    return toy::job({}, [fused](spec::Job& j) {
      j.model.gated_mlp = true;
      j.strategy.fused_kernels.activation = fused;
    });
  };
  const spec::Job fused = gated(true), eager = gated(false), plain = toy::job();
  EXPECT_EQ(kept(fused, Kind::none) - kept(plain, Kind::none), 2 * s * 1024);
  EXPECT_EQ(kept(eager, Kind::none) - kept(fused, Kind::none), 2 * s * 1024);
}

TEST(Activations, OfAParallelBlockWithOneNormKeepOneInputAndOneMask) {
  // One norm's input and one linear input less than 4 + 4 s b h.
  const spec::Job plain = toy::job(), parallel = toy::job({}, [](spec::Job&j) {
                                        j.model.parallel_block = true;
                                        j.model.norms_in_parallel = 1;
                                      });
  EXPECT_EQ(kept(plain, Kind::none) - kept(parallel, Kind::none), 4 * s * h);
}

TEST(Activations, AreNeverMoreWithMoreRecompute) {
  walk::Dice dice(5);
  for (int i = 0; i < 200; ++i) {
    const spec::Job j = walk::random_job(dice);
    const std::int64_t none = kept(j, Kind::none), selective = kept(j, Kind::selective), full = kept(j, Kind::full);
    EXPECT_LE(selective, none) << walk::told(j);
    EXPECT_LT(full, selective) << walk::told(j);
  }
}

TEST(Recompute, OfSomeLayersTakesTheFirstOfAStage) {
  const spec::Job j = toy::job({.recompute = {Kind::full, 2}});
  const plan::Context c(j);
  EXPECT_EQ(plan::recompute_of(c, 0), Kind::full);
  EXPECT_EQ(plan::recompute_of(c, 1), Kind::full);
  EXPECT_EQ(plan::recompute_of(c, 2), Kind::none);
}

TEST(Recompute, WithoutANumberTakesAllLayers) {
  for (const Kind kind : {Kind::none, Kind::selective, Kind::full}) {
    const spec::Job j = toy::job({.recompute = {kind}});
    EXPECT_EQ(plan::recompute_of(plan::Context(j), 3), kind);
  }
}

}  // namespace
