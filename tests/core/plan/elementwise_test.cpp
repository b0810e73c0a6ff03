// tests/core/plan/elementwise_test.cpp -- bytes and launches of the kernels between matmuls.
// SPDX-License-Identifier: Apache-2.0
#include "core/plan/elementwise.h"

#include <gtest/gtest.h>

#include "tests/core/plan/walk.h"

namespace {

using plan::Chain;
using plan::Context;

/// 2-byte storage unless `precision` says otherwise; all kernels fused or all eager.
spec::Job job(bool fused, double dropout = 0, spec::Dtype precision = spec::Dtype::bf16) {
  return toy::job({.attention = spec::AttentionKernel::unfused}, [&](spec::Job& j) {
    j.model.norm = spec::Norm::rmsnorm;
    j.model.gated_mlp = true;
    j.training.dropout = dropout;
    j.training.precision = precision;
    j.strategy.fused_kernels = {fused, fused, fused, fused, fused, fused, fused, {}};
  });
}

void expect_bytes(const Chain& c, std::int64_t read, std::int64_t written, int launches) {
  EXPECT_EQ(c.work.read, read);
  EXPECT_EQ(c.work.written, written);
  EXPECT_EQ(c.launches, launches);
  EXPECT_EQ(c.work.kernels, launches);
}

constexpr std::int64_t kTokens = 128, kHidden = 256, kFfn = 1024, kVocab = 2048, kScores = 8 * 128 * 128;

TEST(Elementwise, FusedKernelsReadEachInputAndWriteEachOutputOnce) {
  const spec::Job j = job(true);
  const Context c(j);
  expect_bytes(plan::norm_forward(c, 1000, 500, 2), 2 * 1000, 2 * 1000, 1);                           // x; y
  expect_bytes(plan::norm_backward(c, 1000, 500, 2), 2 * 2 * 1000, 2 * 1000, 2);                      // x, dy; dx
  expect_bytes(plan::activation_forward(c, kTokens), 2 * 2 * kTokens * kFfn, 2 * kTokens * kFfn, 1);  // gate, up; y
  expect_bytes(plan::activation_backward(c, kTokens), 3 * 2 * kTokens * kFfn, 2 * 2 * kTokens * kFfn,
               1);                                                                               // and dy; two
  expect_bytes(plan::rope_forward(c), 2 * kTokens * 2 * kHidden, 2 * kTokens * 2 * kHidden, 1);  // queries, keys
  expect_bytes(plan::residual_forward(c), 2 * 2 * kTokens * kHidden, 2 * kTokens * kHidden, 1);  // two; their sum
  expect_bytes(plan::residual_backward(c), 2 * 2 * kTokens * kHidden, 2 * kTokens * kHidden, 1);
  expect_bytes(plan::copy_of(c, 1000), 2 * 1000, 2 * 1000, 1);
}

TEST(Elementwise, ACompilerJoinsAResidualWithTheNormBehind) {
  // The norm reads the sum where it was made: of two inputs and a result beside the norm's own input and output, the
  // norm's input is saved; backward the sum is not written either. No kernel of its own.
  const spec::Job j = toy::job({}, [](spec::Job& job) { job.strategy.compile = true; });
  const Context c(j);
  expect_bytes(plan::residual_forward(c), 2 * kTokens * kHidden, 2 * kTokens * kHidden, 0);
  expect_bytes(plan::residual_backward(c), 2 * kTokens * kHidden, 0, 0);
}

TEST(Elementwise, AGeluReadsOneTensor) {
  const spec::Job j = toy::job();
  const Context c(j);
  expect_bytes(plan::activation_forward(c, kTokens), 2 * kTokens * kFfn, 2 * kTokens * kFfn, 1);
  expect_bytes(plan::activation_backward(c, kTokens), 2 * 2 * kTokens * kFfn, 2 * kTokens * kFfn, 1);
}

TEST(Elementwise, AGeluWrittenOutIsAChainOfOperationsInFp32) {
  // Under autocast, x of 2 bytes. Forward, read and written: x / 2 2 2, x to fp32 2 4, cube 4 4, times d 4 4, plus x
  // 4+2 4, times c 4 4, tanh 4 4, plus 1 4 4, the product 2+4 4, to 16 bits 4 2: 40 and 36. Backward: dy to fp32 2 4;
  // of the product 4+4 4, cast 4 2, and 2+4 4; tanh 4+4 4; times c 4 4; to x 4 2; times d 4 4; the cube's square, times
  // three, times the gradient 4 4, 4 4, 8 4; cast 4 2; half 2 2; two sums 4 2: 70 and 48.
  const auto bytes = [](spec::Dtype precision) {
    spec::Job job = toy::job({}, [=](spec::Job& draft) {
      draft.training.precision = precision;
      draft.strategy.attention_kernel = spec::AttentionKernel::unfused;
    });
    job.framework.written_gelu = true;
    return job;
  };
  const spec::Job half = bytes(spec::Dtype::bf16), full = bytes(spec::Dtype::fp32);
  const Context h(half), f(full);
  expect_bytes(plan::activation_forward(h, kTokens), 40 * kTokens * kFfn, 36 * kTokens * kFfn, 10);
  expect_bytes(plan::activation_backward(h, kTokens), 70 * kTokens * kFfn, 48 * kTokens * kFfn, 15);
  expect_bytes(plan::activation_forward(f, kTokens), 10 * 4 * kTokens * kFfn, 8 * 4 * kTokens * kFfn, 8);
  expect_bytes(plan::activation_backward(f, kTokens), 17 * 4 * kTokens * kFfn, 11 * 4 * kTokens * kFfn, 11);
  EXPECT_EQ(plan::kept_of_written_gelu(h), 12);  // x in fp32, tanh, 1 + tanh; x / 2 is where x would be
  EXPECT_EQ(plan::kept_of_written_gelu(f), 12);  // beside x: x / 2, tanh, 1 + tanh
  const spec::Job plain = toy::job();
  EXPECT_EQ(plan::kept_of_written_gelu(Context(plain)), 0);
}

TEST(Elementwise, AnEagerRmsNormIsSevenKernels) {
  // Bytes an element, read and written: to fp32 2 4, square 4 4, mean 4 -, times the inverse root 4 4, to bf16 4 2,
  // weight 2 2. Together 20 and 16; the root of one number a token makes the seventh kernel and no bytes.
  const spec::Job j = job(false);
  expect_bytes(plan::norm_forward(Context(j), 1000, 500, 2), 20 * 1000, 16 * 1000, 7);
}

TEST(Elementwise, AnEagerLayerNormIsOneKernelAllTheSame) {
  spec::Job j = job(false);
  j.model.norm = spec::Norm::layernorm;
  expect_bytes(plan::norm_forward(Context(j), 1000, 500, 2), 2 * 1000, 2 * 1000, 1);
}

TEST(Elementwise, ANormOfAWidthWithoutATunedKernelTakesLonger) {
  // Of 1,000 numbers in bf16 2.5 times 2 bytes read and written; backward 4 times what x, dy and dx are, and 30 us for
  // the sums of the weight's gradient. Of queries and keys two norms, head by head, unless they have no weights.
  spec::Job j = job(true);
  j.framework.tuned_norms = {500};
  j.framework.general_norm = 2.5;
  j.framework.general_norm_backward = 4;
  j.framework.general_norm_sums = base::us(30);
  const Context c(j);
  expect_bytes(plan::norm_forward(c, 1000, 500, 2), 2 * 1000, 2 * 1000, 1);
  expect_bytes(plan::norm_forward(c, 1000, 250, 2), 5 * 1000, 5 * 1000, 1);
  const Chain tuned = plan::norm_backward(c, 1000, 500, 2), general = plan::norm_backward(c, 1000, 250, 2);
  EXPECT_EQ(general.work.read, 4 * tuned.work.read);
  EXPECT_EQ(general.work.written, 4 * tuned.work.written);
  EXPECT_EQ(tuned.work.waits, 0);
  EXPECT_EQ(general.work.waits, 30'000);
  const Chain heads = plan::query_key_norm(c, true);  // 128 tokens, 256 numbers of queries and as many of keys
  EXPECT_EQ(heads.work.read, 4 * 2 * 2 * kTokens * 2 * kHidden);
  EXPECT_EQ(heads.work.waits, 60'000);
  EXPECT_EQ(heads.launches, 4);
  j.model.qk_scale = spec::QkScale::none;
  const Context unscaled(j);
  EXPECT_EQ(plan::query_key_norm(unscaled, true).work.waits, 0);
  EXPECT_EQ(plan::query_key_norm(unscaled, false).work.read, 2 * kTokens * 2 * kHidden);
}

TEST(Elementwise, DropoutOfAResidualWritesAMaskOfOneByteAndReadsItBack) {
  const spec::Job j = job(true, 0.1);
  const Context c(j);
  expect_bytes(plan::residual_forward(c), 2 * 2 * kTokens * kHidden, (2 + 1) * kTokens * kHidden, 1);
  expect_bytes(plan::dropout_forward(c, 1000), 2 * 1000, (2 + 1) * 1000, 1);  // and a byte of mask
  expect_bytes(plan::dropout_backward(c, 1000), (2 + 1) * 1000, 2 * 1000, 1);
}

TEST(Elementwise, AFusedSoftmaxTouchesTheScoresOnceAnUnfusedOneBetweenMaskAndCasts) {
  spec::Job j = job(true);
  // Scale and mask 2 2, to fp32 2 4, softmax 4 4, to bf16 4 2. Backward the softmax reads probabilities and gradients.
  expect_bytes(plan::softmax_forward(Context(j), kScores), 4 * kScores, 4 * kScores, 1);
  expect_bytes(plan::softmax_backward(Context(j), kScores), 8 * kScores, 4 * kScores, 1);
  expect_bytes(plan::scores_around_softmax(Context(j), kScores), 8 * kScores, 8 * kScores, 3);
  j.framework.scales_scores = true;  // the scale apart: 2 2 more
  expect_bytes(plan::scores_around_softmax(Context(j), kScores), 10 * kScores, 10 * kScores, 4);
  j.framework.scales_scores = false;
  j.training.precision = spec::Dtype::fp32;  // no casts: scale and mask alone
  expect_bytes(plan::scores_around_softmax(Context(j), kScores), 4 * kScores, 4 * kScores, 1);
  j.training.precision = spec::Dtype::bf16;
  j.strategy.attention_kernel = spec::AttentionKernel::fused_softmax;
  // One kernel: reads what a causal model attends to, half of the scores (and of their gradients), and writes all.
  expect_bytes(plan::softmax_forward(Context(j), kScores), kScores, 2 * kScores, 1);
  expect_bytes(plan::softmax_backward(Context(j), kScores), 2 * kScores, 2 * kScores, 1);
  j.model.causal = false;
  expect_bytes(plan::softmax_forward(Context(j), kScores), 2 * kScores, 2 * kScores, 1);
}

TEST(Elementwise, AFusedLossReadsTheLogitsTwiceForwardAndOnceBackward) {
  // The maximum first, for the other ranks must know it; then exponentials over it, written in place.
  const spec::Job j = job(true);
  const Context c(j);
  const std::int64_t logits = kTokens * kVocab;
  expect_bytes(plan::loss_maximum(c), 2 * logits, 0, 1);
  expect_bytes(plan::loss_forward(c), 2 * logits, 2 * logits, 1);
  expect_bytes(plan::loss_backward(c), 2 * logits, 2 * logits, 1);
}

TEST(Elementwise, AGradientIsAddedToAMainGradientOfItsOwnFormat) {
  const spec::Job j = toy::job();  // bf16 gradient, fp32 sum: 2 + 4 read, 4 written
  expect_bytes(plan::accumulate_gradient(Context(j), 1000), 6 * 1000, 4 * 1000, 1);
  expect_bytes(plan::bias_gradient(Context(j), kTokens, 1000), 2 * kTokens * 1000, 0, 1);
  // In one format without a main one: that of the first of 4 microbatches takes the place of the sum.
  const spec::Job same = toy::job({.microbatches = 4}, [](spec::Job& job) {
    job.strategy.fused_kernels.grad_accumulation = false;
    job.training.gradient_dtype = spec::Dtype::bf16;
  });
  expect_bytes(plan::accumulate_gradient(Context(same), 1000), 4 * 750, 2 * 750, 1);
}

TEST(Elementwise, EagerChainsMoveMoreBytesInMoreKernels) {
  for (const spec::Dtype precision : {spec::Dtype::bf16, spec::Dtype::fp32}) {
    const spec::Job fused = job(true, 0.1, precision), eager = job(false, 0.1, precision);
    const Context f(fused), e(eager);
    const auto more = [](const Chain& whole, const Chain& parts, const char* name) {
      EXPECT_GT(parts.work.read + parts.work.written, whole.work.read + whole.work.written) << name;
      EXPECT_GT(parts.launches, whole.launches) << name;
    };
    more(plan::norm_forward(f, 1000, 500, 2), plan::norm_forward(e, 1000, 500, 2), "norm");
    more(plan::norm_backward(f, 1000, 500, 2), plan::norm_backward(e, 1000, 500, 2), "norm gradient");
    more(plan::activation_forward(f, 10), plan::activation_forward(e, 10), "activation");
    more(plan::activation_backward(f, 10), plan::activation_backward(e, 10), "activation gradient");
    more(plan::rope_forward(f), plan::rope_forward(e), "rope");
    more(plan::rope_backward(f), plan::rope_backward(e), "rope gradient");
    more(plan::residual_forward(f), plan::residual_forward(e), "residual");
    more(plan::loss_forward(f), plan::loss_forward(e), "loss");
    more(plan::loss_backward(f), plan::loss_backward(e), "loss gradient");
  }
}

TEST(Elementwise, LogitsThatAreMovedAreCopiedAndTheirGradientComesBackAmongZeros) {
  // fp32: a copy (4, 4) in front of the loss; behind its gradient zeros (0, 4) and a copy into them (4, 4).
  spec::Job j = job(false, 0, spec::Dtype::bf16);
  const Chain forward = plan::loss_forward(Context(j)), backward = plan::loss_backward(Context(j));
  j.framework.moves_logits = true;
  const std::int64_t logits = kTokens * kVocab;
  expect_bytes(plan::loss_forward(Context(j)), forward.work.read + 4 * logits, forward.work.written + 4 * logits,
               forward.launches + 1);
  expect_bytes(plan::loss_backward(Context(j)), backward.work.read + 4 * logits, backward.work.written + 8 * logits,
               backward.launches + 2);
}

TEST(Elementwise, AnEagerRmsNormsGradientIsWhatAutogradRuns) {
  // Bytes read and written a number in bf16, by kernel: the gradient times w (2, 2); times the normed, for w (4, 2),
  // and its sum (2, 0); to fp32 (2, 4); times 1 / rms (4, 4); times x (8, 4), and its sum (4, 0); spread from the mean
  // (0, 4); x^1 (4, 4), 2 x (4, 4), times that gradient (8, 4); the sum of both (8, 4); to bf16 (4, 2). In fp32 without
  // the casts.
  const spec::Job half = job(false, 0.1, spec::Dtype::bf16), full = job(false, 0.1, spec::Dtype::fp32);
  const Chain in_bf16 = plan::norm_backward(Context(half), 1000, 500, 2),
              in_fp32 = plan::norm_backward(Context(full), 1000, 500, 4);
  EXPECT_EQ(in_bf16.work.read, 1000 * (2 + 4 + 2 + 2 + 4 + 8 + 4 + 0 + 4 + 4 + 8 + 8 + 4));
  EXPECT_EQ(in_bf16.work.written, 1000 * (2 + 2 + 0 + 4 + 4 + 4 + 0 + 4 + 4 + 4 + 4 + 4 + 2));
  EXPECT_EQ(in_fp32.work.read, 1000 * (4 + 8 + 4 + 4 + 8 + 4 + 0 + 4 + 4 + 8 + 8));
  EXPECT_EQ(in_fp32.work.written, 1000 * (4 + 4 + 0 + 4 + 4 + 0 + 4 + 4 + 4 + 4 + 4));
}

TEST(Elementwise, RotationsOfComplexNumbersAreCastsAndAProductThatNobodyFuses) {
  // To fp32 (2, 4), times the table (4, 4), back (4, 2): 10 read and 10 written a number of queries and keys, forward
  // and backward, each by kernels of its own. Qwen3's heads, which have norms, turn halves.
  spec::Job j = job(false, 0.1, spec::Dtype::bf16);
  const Chain halves = plan::rope_forward(Context(j));
  j.framework.complex_rope = true;
  const std::int64_t numbers = 2 * kTokens * kHidden;
  expect_bytes(plan::rope_forward(Context(j)), 10 * numbers, 10 * numbers, 6);
  expect_bytes(plan::rope_backward(Context(j)), 10 * numbers, 10 * numbers, 6);
  j.model.qk_norm = true;
  EXPECT_EQ(plan::rope_forward(Context(j)).work.read, halves.work.read);
}

TEST(Elementwise, RotationsOfTurnedHeadsTakeLonger) {
  spec::Job j = job(false, 0.1, spec::Dtype::bf16);
  const Chain plain = plan::rope_forward(Context(j));
  j.framework.turned_heads = true;
  EXPECT_EQ(plan::rope_forward(Context(j)).work.read, plain.work.read);  // of models that are not Transformers'
  j.framework.separate_linears = true;
  EXPECT_EQ(plan::rope_forward(Context(j)).work.read, plain.work.read * 7 / 4);
  j.strategy.fused_kernels.rope = true;
  const spec::Job fused = j;
  j.framework.turned_heads = false;
  EXPECT_EQ(plan::rope_forward(Context(fused)).work.read, plan::rope_forward(Context(j)).work.read);
}

TEST(Elementwise, WhatLiesApartIsReadNumberByNumberWhereNothingIsFused) {
  spec::Job j = job(false, 0.1, spec::Dtype::bf16);
  const Context plain(j);
  const std::int64_t turned = plan::rope_backward(plain).work.read,
                     silu = plan::activation_forward(plain, 100).work.read,
                     gradients = plan::activation_backward(plain, 100).work.written;
  j.framework.strided_eager = true;
  const Context strided(j);
  EXPECT_EQ(plan::rope_backward(strided).work.read, turned * 7 / 4);
  EXPECT_EQ(plan::activation_forward(strided, 100).work.read, silu * 7 / 4);
  EXPECT_EQ(plan::activation_backward(strided, 100).work.written, gradients * 27 / 20);
  // Linears of their own leave halves that are whole, and nothing to join: 2 a half read and written, 2 bytes each.
  j.framework.separate_linears = true;
  const Context apart(j);
  EXPECT_EQ(plan::activation_forward(apart, 100).work.read, silu);
  EXPECT_EQ(plan::activation_backward(apart, 100).work.written, gradients * 3 / 5);
  EXPECT_EQ(plan::activation_backward(apart, 100).launches, 3);
  EXPECT_EQ(plan::activation_backward(apart, 100, apart.ffn).work.written, gradients * 27 / 20);  // experts' are of one
  EXPECT_EQ(plan::rotation(strided, 1000, false).work.read, 1000 * 11 * 7 / 4);  // 5.5 numbers of 2 bytes each
}

TEST(Elementwise, SequenceParallelDividesWhatStandsBetweenTheParallelRegions) {
  const spec::Job whole = toy::job({.tp = 4}), cut = toy::job({.tp = 4, .sp = true});
  const Context w(whole), c(cut);
  EXPECT_EQ(plan::residual_forward(w).work.read, 4 * plan::residual_forward(c).work.read);
  EXPECT_EQ(plan::activation_forward(w, 128).work.read, plan::activation_forward(c, 128).work.read);
}

TEST(Elementwise, AClampedGateIsSixKernelsOfEveryOtherColumnWhereNothingIsFused) {
  const auto clamped = [](bool fused) {
    spec::Job j = job(fused);
    j.model.activation = spec::Activation::clamped_swiglu;
    return j;
  };
  constexpr std::int64_t kOne = 2 * kTokens * kFfn;  // bytes of one tensor
  const spec::Job one = clamped(true), apart = clamped(false);
  const Context fused(one), eager(apart);
  expect_bytes(plan::activation_forward(fused, kTokens), 2 * kOne, kOne, 1);
  // Halves in columns that take turns are read at twice their size: 2 + 2, then 1, 1, 2 and 3 tensors in; each kernel
  // one out.
  expect_bytes(plan::activation_forward(eager, kTokens), 11 * kOne, 6 * kOne, 6);
  // In: 7 x 2 + 1; masks by 3 halves of twice their size; clamps 2; copies 2; sum 4; and 4 bytes of masks a number.
  // Out: 8; clamps 2; zeros 4; copies 4; sum 2; and 4 bytes of masks.
  expect_bytes(plan::activation_backward(eager, kTokens), (15 + 6 + 2 + 2 + 4 + 2) * kOne, (8 + 2 + 8 + 2 + 2) * kOne,
               19);
  EXPECT_EQ(plan::kept_by_eager_gate(fused), 0);
  EXPECT_EQ(plan::kept_by_eager_gate(eager), 4);
}

TEST(Elementwise, ASquaredReluIsOneKernelFusedAndReluAndSquareApart) {
  const auto squared = [](bool fused) {
    spec::Job j = job(fused);
    j.model.gated_mlp = false;
    j.model.activation = spec::Activation::squared_relu;
    return j;
  };
  constexpr std::int64_t kOne = 2 * kTokens * kFfn;  // bytes of one tensor
  const spec::Job one = squared(true), two = squared(false);
  const Context fused(one), eager(two);
  expect_bytes(plan::activation_forward(fused, kTokens), kOne, kOne, 1);
  expect_bytes(plan::activation_backward(fused, kTokens), 2 * kOne, kOne, 1);  // x, dy; dx
  expect_bytes(plan::activation_forward(eager, kTokens), 2 * kOne, 2 * kOne, 2);
  // pow(r, 1); times 2; times dy; where r > 0: one tensor in twice, two twice.
  expect_bytes(plan::activation_backward(eager, kTokens), 6 * kOne, 4 * kOne, 4);
}

}  // namespace
