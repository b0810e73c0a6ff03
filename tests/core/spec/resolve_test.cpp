// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/core/spec/small_job.h"

namespace spec {
namespace {

TEST(Resolve, DpIsWhatTheOtherDegreesLeave) {
  Job job = small_job();
  job.strategy.tp = 2;
  job.strategy.pp = 4;
  job = resolve(job);
  EXPECT_EQ(job.strategy.data(), 2);  // 16 / (2 x 4)
  EXPECT_TRUE(assumed(job, "dp: 2 (ranks / (tp cp pp))"));
}

TEST(Resolve, WhatWasWrittenStaysAndIsNotToldAgain) {
  Job job = small_job();
  job.strategy.dp = 16;
  job.strategy.attention_kernel = AttentionKernel::unfused;
  job.strategy.fused_kernels.norm = false;
  job.strategy.overlap.grad_reduce = false;
  job.framework.fused.norm = true;
  job.framework.overlap.grad_reduce = true;
  job.training.gradient_dtype = Dtype::bf16;
  job = resolve(job);
  EXPECT_EQ(job.strategy.attention_kernel, AttentionKernel::unfused);
  EXPECT_EQ(job.strategy.fused_kernels.norm, false);
  EXPECT_EQ(job.strategy.overlap.grad_reduce, false);
  EXPECT_EQ(job.training.gradients(), Dtype::bf16);
  for (const std::string& told : job.assumptions) {
    for (const char* field :
         {"dp:", "attention_kernel:", "fused_kernels.norm:", "overlap.grad_reduce:", "gradient_dtype:"}) {
      EXPECT_FALSE(told.starts_with(field)) << told;
    }
  }
}

TEST(Resolve, TheSequenceIsCutWhereTheFrameworkOrExpertsDemandItAndTheJobSaysNothing) {
  const auto sp = [](auto change) {
    Job job = small_job();
    job.strategy.tp = 2;
    change(job);
    return resolve(job).strategy.sp;
  };
  const auto always = [](Job& j) { j.framework.sequence_parallel = true; };
  const auto experts = [](Job& j) { j.model.moe = Moe{.experts = 8, .top_k = 2, .ffn = 64}; };
  EXPECT_FALSE(sp([](Job&) {}));
  EXPECT_TRUE(sp(always));
  EXPECT_TRUE(sp(experts));
  EXPECT_FALSE(sp([&](Job& j) { always(j), j.strategy.tp = 1; }));
  EXPECT_FALSE(sp([&](Job& j) { always(j), j.strategy.sp_given = true; }));  // sp: false was written
  EXPECT_FALSE(sp([&](Job& j) { always(j), j.training.mode = Mode::decode; }));
  EXPECT_FALSE(sp([&](Job& j) { always(j), j.training.sequence = 1023; }));  // no half of it
  Job job = small_job();
  job.strategy.tp = 2;
  always(job);
  EXPECT_TRUE(assumed(resolve(job), "sp: true (default of megatron with tp above 1)"));
}

TEST(Resolve, GradientsHaveTheDtypeOfWeightsWithoutMastersWherePyTorchKeepsThem) {
  const auto dtype = [](bool master, int zero) {
    Job job = small_job();
    job.framework.moments_as_weights = true;
    job.training.master_weights = master;
    job.strategy.zero = zero;
    return *resolve(job).training.gradient_dtype;
  };
  EXPECT_EQ(dtype(true, 0), Dtype::fp32);
  EXPECT_EQ(dtype(false, 0), Dtype::bf16);
  EXPECT_EQ(dtype(false, 1), Dtype::bf16);
  EXPECT_EQ(dtype(false, 3), Dtype::fp32);  // what the reduction of shards is in
}

TEST(Resolve, ExpertsAreCutByTpWhereTheFrameworkDoesSoAndTheJobSaysNothing) {
  const auto etp = [](bool follows, bool given, int ep, int ffn, int dp = 2) {
    Job job = small_job();
    job.framework.experts_follow_tp = follows;
    job.model.moe = Moe{.experts = 8, .top_k = 2, .ffn = ffn};
    job.strategy.tp = 4;
    job.strategy.dp = dp;
    job.strategy.ep = ep;
    job.strategy.etp_given = given;
    return resolve(job).strategy.etp;
  };
  EXPECT_EQ(etp(true, false, 1, 64), 4);
  EXPECT_EQ(etp(false, false, 1, 64), 1);
  EXPECT_EQ(etp(true, true, 1, 64), 1);   // etp: 1 was written
  EXPECT_EQ(etp(true, false, 2, 64), 4);  // 2 x 4 are the 8 ranks of a stage
  EXPECT_EQ(etp(true, false, 4, 64), 1);  // 4 x 4 does not divide them
  EXPECT_EQ(etp(true, false, 1, 66), 1);  // 66 columns do not divide by 4
}

TEST(Resolve, AJobOfSeveralRacksTakesEqualSegmentsOfThem) {
  const auto domain = [](int nodes) {
    Job job = small_job();
    job.cluster.node.gpus = 4;
    job.cluster.node.nvlink.domain = 72;
    job.cluster.node.nvlink.via = Switch::nvswitch;
    job.cluster.nodes = nodes;
    return resolve(job).cluster.node.nvlink.domain;
  };
  EXPECT_EQ(domain(16), 72);  // one rack
  EXPECT_EQ(domain(64), 64);  // four segments of 16 nodes
  EXPECT_EQ(domain(36), 72);
  EXPECT_EQ(domain(38), 72);  // segments of 2 nodes would waste the racks
}

TEST(Resolve, AttentionIsTheBestOfTheGeneration) {
  // Hopper has three kernels to choose among, and the framework's packages bring one of them.
  constexpr AttentionKernel cudnn = AttentionKernel::cudnn, flash2 = AttentionKernel::flash2;
  const auto best = [](Generation g, AttentionKernel on_hopper, Dtype precision = Dtype::bf16, int head_dim = 128) {
    Job job = small_job();
    job.cluster.node.gpu.generation = g;
    job.framework.hopper_attention = on_hopper;
    job.training.precision = precision;
    job.model.head_dim = head_dim;
    return *resolve(job).strategy.attention_kernel;
  };
  EXPECT_EQ(best(Generation::volta, cudnn, Dtype::fp16), AttentionKernel::fused_softmax);
  EXPECT_EQ(best(Generation::turing, flash2, Dtype::fp16), AttentionKernel::fused_softmax);
  EXPECT_EQ(best(Generation::ampere, cudnn), AttentionKernel::flash2);
  EXPECT_EQ(best(Generation::ada, flash2), AttentionKernel::flash2);
  EXPECT_EQ(best(Generation::hopper, cudnn), AttentionKernel::cudnn);
  EXPECT_EQ(best(Generation::hopper, flash2), AttentionKernel::flash2);
  EXPECT_EQ(best(Generation::hopper, AttentionKernel::flash3), AttentionKernel::flash3);
  EXPECT_EQ(best(Generation::blackwell, flash2), AttentionKernel::cudnn);
  EXPECT_EQ(best(Generation::blackwell_rtx, flash2), AttentionKernel::flash2);
  EXPECT_EQ(best(Generation::ampere, flash2, Dtype::fp32), AttentionKernel::unfused);
  EXPECT_EQ(best(Generation::ampere, flash2, Dtype::bf16, 448), AttentionKernel::fused_softmax);
}

TEST(Resolve, LatentAttentionHasAKernelThatTakesItsUnequalHeads) {
  // Heads of 192 numbers with values of 128. FlashAttention 2 runs where values are padded; cuDNN's backward takes so
  // wide heads on Hopper and later.
  const auto best = [](Generation g, bool pads) {
    Job job = small_job();
    job.model.mla = Mla{.kv_lora_rank = 64, .rope_head_dim = 64, .nope_head_dim = 128, .value_head_dim = 128};
    job.cluster.node.gpu.generation = g;
    job.framework.pads_latent_values = pads;
    return best_attention(job);
  };
  EXPECT_EQ(best(Generation::ampere, true), AttentionKernel::flash2);
  EXPECT_EQ(best(Generation::ampere, false), AttentionKernel::fused_softmax);
  EXPECT_EQ(best(Generation::hopper, false), AttentionKernel::cudnn);
  EXPECT_EQ(best(Generation::blackwell, false), AttentionKernel::cudnn);
}

TEST(Resolve, AttentionOfAMixedClusterRunsOnAllOfItsGpus) {
  // FlashAttention 3 is Hopper's alone; cuDNN's begins with Ampere, and no other uses Blackwell's tensor cores.
  const auto best = [](Generation least, Generation other) {
    Job job = small_job();
    job.framework.hopper_attention = AttentionKernel::flash3;
    job.cluster.node.gpu.generation = least;
    job.cluster.groups = {{job.cluster.node, 1}, {job.cluster.node, 1}};
    job.cluster.groups.back().node.gpu.generation = other;
    return best_attention(job);
  };
  EXPECT_EQ(best(Generation::hopper, Generation::hopper), AttentionKernel::flash3);
  EXPECT_EQ(best(Generation::hopper, Generation::blackwell), AttentionKernel::cudnn);
  EXPECT_EQ(best(Generation::ampere, Generation::blackwell), AttentionKernel::cudnn);
  EXPECT_EQ(best(Generation::hopper, Generation::ampere), AttentionKernel::cudnn);
  EXPECT_EQ(best(Generation::turing, Generation::hopper), AttentionKernel::fused_softmax);
}

TEST(Resolve, AFrameworkThatBalancesItsStagesTakesLayersThatDoNotDivide) {
  const auto layers = [](int vpp, bool embedding_in_split) {
    Job job = small_job();
    job.model.layers = 9;
    job.strategy.pp = 2;
    job.strategy.vpp = vpp;
    job.strategy.schedule = vpp > 1 ? Schedule::interleaved : Schedule::one_f_one_b;
    job.strategy.embedding_in_split = embedding_in_split;
    job.strategy.dp = 1;
    job.cluster.nodes = 1;
    const auto divides = [&job] {
      const std::vector<base::Fault> faults = check(job);
      return std::none_of(faults.begin(), faults.end(), [](const auto& fault) { return fault.field == "strategy.pp"; });
    };
    EXPECT_EQ(divides(), embedding_in_split) << "without such a framework they must";
    job.framework.balances_stages = true;
    EXPECT_TRUE(divides());
    return resolve(job).strategy.stage_layers;
  };
  EXPECT_EQ(layers(1, false).size(), 2u);                       // by cost: what balanced_layers says
  EXPECT_EQ(layers(2, false), (std::vector<int>{2, 3, 3, 1}));  // 11 over 4 chunks: 3 3 3 2, less one at either end
  EXPECT_EQ(layers(1, true), std::vector<int>{});               // 9 and the head are 10: five each, as everywhere
}

TEST(Resolve, AFrameworkThatSpreadsLayersDoesSoWhereTheyDivide) {
  Job job = small_job();
  job.model.layers = 8;
  job.strategy.pp = 4;
  job.strategy.dp = 1;
  job.cluster.nodes = 1;
  job.cluster.node.gpus = 4;
  job.framework.spreads_stages = true;
  // Embedding and head are two of ten: 3 3 2 2, of which the first and the last give one.
  EXPECT_EQ(resolve(job).strategy.stage_layers, (std::vector<int>{2, 3, 2, 1}));
}

TEST(Resolve, KernelsAndOverlapAreTheFrameworks) {
  Job job = small_job();
  job.strategy.tp = 2;
  job.framework.fused.norm = true;
  job.framework.overlap.grad_reduce = true;
  job.framework.overlap.tp = TpOverlap::wgrad;
  job = resolve(job);
  EXPECT_EQ(job.strategy.fused_kernels.norm, true);
  EXPECT_EQ(job.strategy.fused_kernels.cross_entropy, false);
  EXPECT_EQ(job.strategy.overlap.tp, TpOverlap::wgrad);
  EXPECT_TRUE(assumed(job, "overlap.grad_reduce: true (default of megatron)"));
  EXPECT_TRUE(assumed(job, "overlap.tp: wgrad (default of megatron)"));
}

TEST(Resolve, AVocabularyIsPaddedForTensorParallelism) {
  Job job = small_job();
  job.strategy.tp = 8;
  job.model.vocab = 50257;
  job = resolve(job);
  EXPECT_EQ(job.model.vocab, 50264);  // the next multiple of 8
  EXPECT_TRUE(assumed(job, "vocab: 50264 (padded from 50257 for tp)"));
}

TEST(Resolve, TwiceIsOnce) {
  Job job = small_job();
  job.strategy.tp = 8;
  job.model.vocab = 50257;
  const Job once = resolve(job);
  const Job twice = resolve(once);
  EXPECT_EQ(twice.assumptions, once.assumptions);
  EXPECT_EQ(twice.model.vocab, once.model.vocab);
}

TEST(Resolve, OptimizerDefaultsFollowThePrecision) {
  Job job = small_job();
  EXPECT_EQ(resolve(job).training.master_weights, true);
  EXPECT_EQ(resolve(job).training.gradient_dtype, Dtype::fp32);
  job.training.precision = Dtype::fp32;
  EXPECT_EQ(resolve(job).training.master_weights, false);
}

TEST(Resolve, GradientsStayInFp16WhereTheFrameworkKeepsThemSo) {
  const auto gradients = [](bool keeps, Dtype precision) {
    Job job = small_job();
    job.framework.fp16_gradients = keeps;
    job.training.precision = precision;
    job.training.gradient_dtype.reset();
    return resolve(job).training.gradients();
  };
  EXPECT_EQ(gradients(true, Dtype::fp16), Dtype::fp16);
  EXPECT_EQ(gradients(true, Dtype::bf16), Dtype::fp32);
  EXPECT_EQ(gradients(false, Dtype::fp16), Dtype::fp32);
}

// NVIDIA's recipes since NeMo 2. Models with grouped heads are of 2024, Blackwell's software of 2025.
TEST(Resolve, GradientsBelow16BitsAreInBf16WhereRecipesOfTodayHaveThemSo) {
  const auto gradients = [](const auto& with) {
    Job job = small_job();
    job.framework.recipes_of_fp8_gpus = true;
    job.cluster.node.gpu.generation = Generation::hopper;
    job.training.precision = Dtype::fp8;
    job.model.kv_heads = job.model.heads / 2;
    with(job);
    return resolve(job).training.gradients();
  };
  const auto old = [](Job& j) { j.model.kv_heads = j.model.heads; };
  EXPECT_EQ(gradients([](Job&) {}), Dtype::bf16);
  EXPECT_EQ(gradients([](Job& j) { j.training.precision = Dtype::nvfp4; }), Dtype::bf16);
  EXPECT_EQ(gradients([](Job& j) { j.training.precision = Dtype::bf16; }), Dtype::fp32);
  EXPECT_EQ(gradients([](Job& j) { j.training.gradient_dtype = Dtype::fp32; }), Dtype::fp32);  // as stated
  EXPECT_EQ(gradients([](Job& j) { j.framework.recipes_of_fp8_gpus = false; }), Dtype::fp32);
  EXPECT_EQ(gradients([](Job& j) { j.cluster.node.gpu.generation = Generation::cdna4; }), Dtype::fp32);
  EXPECT_EQ(gradients(old), Dtype::fp32);  // GPT-3 and most of Llama 2 ran before, too
  EXPECT_EQ(gradients([](Job& j) { j.cluster.node.gpu.generation = Generation::ada; }), Dtype::bf16);
  EXPECT_EQ(gradients([&](Job& j) { old(j), j.cluster.node.gpu.generation = Generation::blackwell; }), Dtype::bf16);
}

TEST(Resolve, EvenLoadsOfExpertsAreToldWhereTheJobSaysNothingOfThem) {
  const auto told = [](const auto& with) {
    Job job = small_job();
    job.model.moe = Moe{.experts = 8, .top_k = 2, .ffn = 512};
    job.strategy.ep = 2;
    with(job);
    const Job resolved = resolve(job);
    return std::ranges::any_of(resolved.assumptions,
                               [](const auto& a) { return a.starts_with("moe_imbalance: 1 (as"); });
  };
  EXPECT_TRUE(told([](Job&) {}));
  EXPECT_FALSE(told([](Job& j) { j.strategy.moe_imbalance_given = true; }));
  EXPECT_FALSE(told([](Job& j) { j.strategy.moe_round_robin = true; }));
  EXPECT_FALSE(told([](Job& j) { j.strategy.moe_capacity_factor = 1; }));  // which decides what is computed
  EXPECT_TRUE(told([](Job& j) { j.strategy.moe_capacity_factor = 1, j.framework.drops_without_padding = true; }));
  EXPECT_FALSE(told([](Job& j) { j.strategy.ep = 1; }));  // one rank has them all
  EXPECT_FALSE(told([](Job& j) { j.model.moe.reset(), j.strategy.ep = 1; }));
}

TEST(Resolve, RoomOfExpertsIsPaddedUnlessTheFrameworkDropsAlone) {
  const auto pads = [](bool drops_alone, std::optional<double> factor) {
    Job job = small_job();
    job.model.moe = Moe{.experts = 8, .top_k = 2, .ffn = 512};
    job.framework.drops_without_padding = drops_alone;
    job.strategy.moe_capacity_factor = factor;
    return resolve(job).strategy.pads_experts();
  };
  EXPECT_TRUE(pads(false, 1.25));
  EXPECT_FALSE(pads(true, 1.25));
  EXPECT_FALSE(pads(false, {}));
}

TEST(Resolve, ShardedGradientsStayInBf16WhereTheFrameworkKeepsThemSo) {
  const auto gradients = [](int zero, int pp, Dtype precision) {
    Job job = small_job();
    job.framework.sharded_gradients_in_16_bits = true;
    job.strategy.zero = zero;
    job.strategy.pp = pp;
    job.training.precision = precision;
    return resolve(job).training.gradients();
  };
  EXPECT_EQ(gradients(1, 1, Dtype::bf16), Dtype::bf16);
  EXPECT_EQ(gradients(1, 1, Dtype::fp8), Dtype::bf16);  // what its matmuls write
  EXPECT_EQ(gradients(0, 1, Dtype::bf16), Dtype::fp32);
  EXPECT_EQ(gradients(1, 2, Dtype::bf16), Dtype::fp32);  // pipelines sum in fp32
  EXPECT_EQ(gradients(1, 1, Dtype::fp16), Dtype::fp32);  // that is fp16_gradients
}

}  // namespace
}  // namespace spec
