// tests/core/spec/attention_rules_test.cpp -- which attention kernels a Job may name, and in which formats.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>

#include "tests/core/spec/small_job.h"

namespace spec {
namespace {

TEST(Check, FlashKernelsNeedHalfPrecisionAndTheirGeneration) {
  const auto kernel = [](AttentionKernel k, Generation g, Dtype d) {
    return with([&](Job& j) {
      j.strategy.attention_kernel = k;
      j.cluster.node.gpu.generation = g;
      j.training.precision = d;
    });
  };
  EXPECT_EQ(fields(kernel(AttentionKernel::flash3, Generation::hopper, Dtype::bf16)), Fields{});
  EXPECT_EQ(fields(kernel(AttentionKernel::flash3, Generation::ampere, Dtype::bf16)),
            Fields{"strategy.attention_kernel"});
  EXPECT_EQ(fields(kernel(AttentionKernel::flash2, Generation::volta, Dtype::fp16)),
            Fields{"strategy.attention_kernel"});
  EXPECT_EQ(fields(kernel(AttentionKernel::flash2, Generation::ampere, Dtype::fp32)),
            Fields{"strategy.attention_kernel"});
  EXPECT_EQ(fields(kernel(AttentionKernel::unfused, Generation::volta, Dtype::fp32)), Fields{});
  EXPECT_EQ(fields(kernel(AttentionKernel::mem_efficient, Generation::volta, Dtype::fp16)), Fields{});
  EXPECT_EQ(fields(kernel(AttentionKernel::mem_efficient, Generation::cdna3, Dtype::bf16)),
            Fields{"strategy.attention_kernel"});
  for (const Generation amd : {Generation::cdna3, Generation::cdna4}) {
    EXPECT_EQ(fields(kernel(AttentionKernel::flash2, amd, Dtype::bf16)), Fields{});
    EXPECT_EQ(fields(kernel(AttentionKernel::cudnn, amd, Dtype::bf16)), Fields{"strategy.attention_kernel"});
  }
}

// Of flash2's 0.5 and 0.4 of the peak: 0.94 forward on Ampere and 0.63 on Hopper, 0.4 backward.
TEST(Resolve, AKernelForMasksIsAsFastBesideFlash2AsOnOneCard) {
  const auto curve = [](Generation generation) {
    const Job job = resolve(with([&](Job& j) {
      j.strategy.attention_kernel = AttentionKernel::mem_efficient;
      j.cluster.node.gpu.generation = generation;
      AttentionCurve& flash2 = j.cluster.node.calibration.attention[static_cast<int>(AttentionKernel::flash2)];
      flash2.forward = 0.5;
      flash2.backward = 0.4;
    }));
    return job.cluster.node.calibration.attention[static_cast<int>(AttentionKernel::mem_efficient)];
  };
  EXPECT_DOUBLE_EQ(curve(Generation::ampere).forward, 0.94 * 0.5);
  EXPECT_DOUBLE_EQ(curve(Generation::hopper).forward, 0.63 * 0.5);
  EXPECT_DOUBLE_EQ(curve(Generation::hopper).backward, 0.4 * 0.4);
}

TEST(Check, AMaskOfWholeSequencesIsNotDealtToContextParallelRanks) {
  EXPECT_EQ(fields(with([](Job& j) {
              j.strategy.attention_kernel = AttentionKernel::mem_efficient;
              j.strategy.cp = 2;
            })),
            Fields{"strategy.attention_kernel"});
}

TEST(Check, AttentionInFp8IsForNarrowTrainingByCudnnOnHopperAndBlackwell) {
  const auto attention = [](
                             Generation g, Dtype precision, AttentionKernel kernel, bool casts_kept, int head_dim = 128,
                             const std::function<void(Job&)>& change = [](Job&) {}) {
    return fields(with([&](Job& j) {
      j.training.fp8_attention = true;
      j.training.precision = precision;
      j.cluster.node.gpu.generation = g;
      j.cluster.node.gpu.peak[static_cast<int>(Dtype::fp8)] = base::TFLOPps(2000);
      j.strategy.attention_kernel = kernel;
      j.framework.keeps_casts = casts_kept;
      j.model.head_dim = head_dim;
      change(j);
    }));
  };
  constexpr AttentionKernel cudnn = AttentionKernel::cudnn, flash2 = AttentionKernel::flash2;
  EXPECT_EQ(attention(Generation::hopper, Dtype::fp8, cudnn, true), Fields{});
  EXPECT_EQ(attention(Generation::blackwell, Dtype::fp8, cudnn, true), Fields{});
  EXPECT_EQ(attention(Generation::ada, Dtype::fp8, cudnn, true), Fields{"training.fp8_attention"});
  EXPECT_EQ(attention(Generation::blackwell_rtx, Dtype::fp8, cudnn, true), Fields{"training.fp8_attention"});
  EXPECT_EQ(traits_of(Generation::cdna4).fp8_attention, NarrowHeads::none);
  EXPECT_EQ(attention(Generation::hopper, Dtype::bf16, cudnn, true), Fields{"training.fp8_attention"});
  EXPECT_EQ(attention(Generation::hopper, Dtype::fp8, cudnn, false), Fields{"training.fp8_attention"});
  EXPECT_EQ(attention(Generation::hopper, Dtype::fp8, flash2, true), Fields{"strategy.attention_kernel"});
  // Hopper has it for heads of 128 alone, Blackwell up to that.
  EXPECT_EQ(attention(Generation::hopper, Dtype::fp8, cudnn, true, 64), Fields{"training.fp8_attention"});
  EXPECT_EQ(attention(Generation::blackwell, Dtype::fp8, cudnn, true, 64), Fields{});
  EXPECT_EQ(attention(Generation::blackwell, Dtype::fp8, cudnn, true, 256), Fields{"training.fp8_attention"});
  const auto windowed = [](Job& j) { j.model.window = 128; };
  EXPECT_EQ(attention(Generation::blackwell, Dtype::fp8, cudnn, true, 128, windowed), Fields{"training.fp8_attention"});
  const auto latent = [](Job& j) {
    j.model.mla = Mla{.kv_lora_rank = 64, .rope_head_dim = 64, .nope_head_dim = 128, .value_head_dim = 128};
  };
  EXPECT_EQ(attention(Generation::blackwell, Dtype::fp8, cudnn, true, 128, latent), Fields{});
  EXPECT_EQ(attention(Generation::hopper, Dtype::fp8, cudnn, true, 128, latent), Fields{"training.fp8_attention"});
}

TEST(Check, NothingTrainsInMicroscaledFormatsOnBlackwellCardsForWorkstations) {
  const auto precision = [](Generation g, Dtype dtype, Mode mode = Mode::train) {
    return fields(with([&](Job& j) {
      j.training.mode = mode;
      j.training.precision = dtype;
      j.cluster.node.gpu.generation = g;
      j.cluster.node.gpu.peak[static_cast<int>(dtype)] = base::TFLOPps(2000);
    }));
  };
  for (const Dtype dtype : {Dtype::mxfp8, Dtype::nvfp4}) {
    EXPECT_EQ(precision(Generation::blackwell_rtx, dtype), Fields{"training.precision"});
    EXPECT_EQ(precision(Generation::blackwell_rtx, dtype, Mode::prefill), Fields{});  // one layout is enough
    EXPECT_EQ(precision(Generation::blackwell, dtype), Fields{});
  }
  EXPECT_EQ(precision(Generation::blackwell_rtx, Dtype::fp8), Fields{});
}

TEST(Check, AKernelThatTheFrameworkDoesNotRunIsPredictedWithAWarning) {
  const auto told = [](bool pads) {
    Job job = small_job();
    job.model.mla = Mla{.kv_lora_rank = 64, .rope_head_dim = 64, .nope_head_dim = 128, .value_head_dim = 128};
    job.framework.pads_latent_values = pads;
    job.strategy.attention_kernel = AttentionKernel::flash2;
    return warnings(resolve(job));
  };
  EXPECT_EQ(told(false).size(), told(true).size() + 1);
}

}  // namespace
}  // namespace spec
