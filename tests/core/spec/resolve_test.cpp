// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

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

TEST(Resolve, ACompilerLeavesTheLossToFrameworksThatCompileBlocks) {
  const auto fused = [](bool compiles) {
    Job job = small_job();
    job.strategy.compile = true;
    job.framework.compiles_loss = compiles;
    job.framework.fused.cross_entropy = false;
    return *resolve(job).strategy.fused_kernels.cross_entropy;
  };
  EXPECT_TRUE(fused(true));
  EXPECT_FALSE(fused(false));
}

TEST(Resolve, TrainersThatCompileTheLossSince2025DoSoWhereNothingOlderRuns) {
  const auto apart = [](bool since_2025, bool compile, const auto& with) {
    Job job = small_job();
    job.strategy.compile = compile;
    job.framework.separate_loss = true;
    job.framework.compiles_loss_of_2025 = since_2025;
    with(job);
    return resolve(job).framework.separate_loss;
  };
  const auto blackwell = [](Job& j) { j.cluster.node.gpu.generation = Generation::blackwell; };
  const auto norm_of = [](QkScale scale) {
    return [scale](Job& j) { j.model.qk_norm = true, j.model.qk_scale = scale; };
  };
  EXPECT_FALSE(apart(true, true, blackwell));
  EXPECT_FALSE(apart(true, true, norm_of(QkScale::head)));  // Qwen3
  EXPECT_TRUE(apart(true, true, norm_of(QkScale::width)));  // OLMo 2, of 2024
  EXPECT_TRUE(apart(true, true, [](Job&) {}));
  EXPECT_TRUE(apart(true, false, blackwell));
  EXPECT_TRUE(apart(false, true, blackwell));
  // A Job that says that the loss is no one kernel is right.
  EXPECT_TRUE(apart(true, true, [&](Job& j) {
    blackwell(j);
    j.strategy.fused_kernels.cross_entropy = false;
  }));
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

TEST(Resolve, PermutationIsOneKernelWhereTheFrameworkOrItsRecipesHaveIt) {
  const auto fused = [](bool of_framework, bool of_recipes, bool experts) {
    Job job = small_job();
    job.framework.fused.permute = of_framework;
    job.framework.recipes_of_fp8_gpus = of_recipes;
    job.cluster.node.gpu.peak[static_cast<int>(Dtype::fp8)] = base::TFLOPps(2000);
    if (experts) job.model.moe = Moe{.experts = 8, .top_k = 2, .ffn = 512};
    return resolve(job);
  };
  EXPECT_EQ(fused(true, false, true).strategy.fused_kernels.permute, true);
  EXPECT_EQ(fused(false, false, true).strategy.fused_kernels.permute, false);
  EXPECT_EQ(fused(false, true, true).strategy.fused_kernels.permute, true);
  EXPECT_TRUE(assumed(fused(true, false, true), "fused_kernels.permute: true (default of megatron)"));
  EXPECT_FALSE(assumed(fused(true, false, false), "fused_kernels.permute"));  // nothing to permute
}

TEST(Resolve, ACompilerFusesElementwiseKernelsOnly) {
  Job job = small_job();
  job.strategy.compile = true;
  job.strategy.fused_kernels.rope = false;  // written: stays
  const FusedKernels fused = resolve(job).strategy.fused_kernels;
  EXPECT_EQ(fused.norm, true);
  EXPECT_EQ(fused.activation, true);
  EXPECT_EQ(fused.cross_entropy, true);
  EXPECT_EQ(fused.rope, false);
  EXPECT_EQ(fused.grad_accumulation, false);
}

TEST(Resolve, CompilersThatMayBeOlderThan2024LeaveAnOddVocabularyAsItIs) {
  const auto pads = [](std::int64_t vocab, const auto& with) {
    Job job = small_job();
    job.cluster.node.gpu.peak[static_cast<int>(Dtype::fp8)] = {};
    job.strategy.compile = true;
    job.model.vocab = vocab;
    job.model.kv_heads = job.model.heads;
    with(job);
    return resolve(job).framework.compiles_head;
  };
  EXPECT_FALSE(pads(50'257, [](Job&) {}));
  EXPECT_TRUE(pads(50'304, [](Job&) {}));                                           // nothing to pad
  EXPECT_TRUE(pads(50'257, [](Job& j) { j.model.kv_heads = j.model.heads / 2; }));  // Llama 2's 70B and later
  EXPECT_TRUE(pads(50'257, [](Job& j) { j.cluster.node.gpu.peak[static_cast<int>(Dtype::fp8)] = base::TFLOPps(1); }));
}

TEST(Resolve, AdaptersAreInFp32WhereTheSoftwareIsOf2024AndNothingElseSaysOtherwise) {
  const auto wide = [](const auto& with) {
    Job job = small_job();  // with fewer heads of keys: of 2024
    job.strategy.lora = Lora{.rank = 8, .qkv = true};
    job.framework.wide_adapters = true;
    with(job);
    return resolve(job).framework.wide_adapters;
  };
  EXPECT_TRUE(wide([](Job&) {}));
  EXPECT_FALSE(wide([](Job& j) { j.model.kv_heads = j.model.heads; }));
  EXPECT_FALSE(wide([](Job& j) { j.training.master_weights = false; }));
  EXPECT_FALSE(wide([](Job& j) { j.strategy.lora->base = LoraBase::nf4; }));
  EXPECT_FALSE(wide([](Job& j) { j.strategy.compile = true; }));
  EXPECT_FALSE(wide([](Job& j) { j.framework.wide_adapters = false; }));
}

TEST(Resolve, WithoutAFusedNormRopeAndGatedActivationAreNotFusedEither) {
  const auto fused = [](bool gated) {
    Job job = small_job();
    job.model.position = Position::rope;
    job.model.gated_mlp = gated;
    job.framework.fused.rope = job.framework.fused.activation = true;
    job.strategy.fused_kernels.norm = false;
    return resolve(job).strategy.fused_kernels;
  };
  EXPECT_EQ(fused(true).rope, false);
  EXPECT_EQ(fused(true).activation, false);
  EXPECT_EQ(fused(false).activation, true);  // a plain GELU had its kernel earlier
}

TEST(Resolve, ALossIsFusedByRecipesOfFp8GpusWhereTheFrameworkSaysSo) {
  const auto loss = [](bool recipes, double fp8) {
    Job job = small_job();
    job.framework.fused.cross_entropy = false;
    job.framework.recipes_of_fp8_gpus = recipes;
    job.cluster.node.gpu.peak[static_cast<int>(Dtype::fp8)] = base::TFLOPps(fp8);
    return *resolve(job).strategy.fused_kernels.cross_entropy;
  };
  EXPECT_TRUE(loss(true, 1979));
  EXPECT_FALSE(loss(true, 0));
  EXPECT_FALSE(loss(false, 1979));
}

TEST(Resolve, GpusWithoutFp8RanTheCodeOfBeforeThoseRecipes) {
  const auto older = [](double fp8, bool recipes, const auto& with) {
    Job job = small_job();
    job.model.kv_heads = job.model.heads;
    job.model.position = Position::rope;
    job.model.gated_mlp = true;
    job.model.norm = Norm::rmsnorm;
    job.framework.fused.norm = job.framework.fused.rope = job.framework.fused.activation = true;
    job.framework.recipes_of_fp8_gpus = recipes;
    job.cluster.node.gpu.peak[static_cast<int>(Dtype::fp8)] = base::TFLOPps(fp8);
    with(job);
    return resolve(job);
  };
  const auto as_is = [](Job&) {};
  const auto fused = [](const Job& job) {
    const FusedKernels& kernels = job.strategy.fused_kernels;
    return std::vector{*kernels.norm, *kernels.rope, *kernels.activation, !job.framework.shifted_logits};
  };
  const std::vector all{true, true, true, true};
  EXPECT_EQ(fused(older(0, true, as_is)), (std::vector{false, false, false, false}));
  EXPECT_EQ(fused(older(1979, true, as_is)), all);
  EXPECT_EQ(fused(older(0, false, as_is)), all);
  EXPECT_EQ(fused(older(0, true, [](Job& j) { j.training.mode = Mode::prefill; })), all);
  // A model of 2024 is trained by no older code.
  EXPECT_EQ(fused(older(0, true, [](Job& j) { j.model.kv_heads = j.model.heads / 2; })), all);
  EXPECT_EQ(fused(older(0, true, [](Job& j) { j.model.window = 512; })), all);
  EXPECT_EQ(fused(older(0, true, [](Job& j) { j.model.qk_norm = true; })), all);
  // Layer norm and a plain GELU had their kernels earlier, and what the job says stands.
  EXPECT_TRUE(*older(0, true, [](Job& j) { j.model.norm = Norm::layernorm; }).strategy.fused_kernels.norm);
  EXPECT_TRUE(*older(0, true, [](Job& j) { j.model.gated_mlp = false; }).strategy.fused_kernels.activation);
  EXPECT_TRUE(*older(0, true, [](Job& j) { j.strategy.fused_kernels.rope = true; }).strategy.fused_kernels.rope);
  EXPECT_TRUE(*older(0, true, [](Job& j) { j.strategy.fused_kernels.norm = true; }).strategy.fused_kernels.norm);
}

/// The recipe of GPT-2 with an attention that writes its scores, under a framework whose default is 0.1.
Job gpt2() {
  Job job = small_job();
  job.model.norm = Norm::layernorm;
  job.model.activation = Activation::gelu;
  job.model.gated_mlp = false;
  job.model.position = Position::learned;
  job.strategy.attention_kernel = AttentionKernel::fused_softmax;
  job.framework.dropout = 0.1;
  return job;
}

TEST(Resolve, ModelsOfGpt2sRecipeHaveTheFrameworksDropout) {
  EXPECT_EQ(resolve(gpt2()).training.dropout, 0.1);
  const auto without = [](auto change) {
    Job job = gpt2();
    change(job);
    return !resolve(job).training.drops();
  };
  EXPECT_TRUE(without([](Job& j) { j.training.dropout = 0; }));  // written
  EXPECT_TRUE(without([](Job& j) { j.framework.dropout = 0; }));
  EXPECT_TRUE(without([](Job& j) { j.model.position = Position::rope; }));
  EXPECT_TRUE(without([](Job& j) { j.model.norm = Norm::rmsnorm; }));
  EXPECT_TRUE(without([](Job& j) { j.strategy.attention_kernel = AttentionKernel::flash2; }));
}

TEST(Resolve, GeluIsWrittenOutInModelsOfGpt2sRecipeWhoseCodeDoesSo) {
  const auto written = [](auto change) {
    Job job = gpt2();
    job.model.bias = true;
    job.model.kv_heads = job.model.heads;
    job.framework.written_gelu = true;
    job.strategy.fused_kernels.activation = false;
    change(job);
    return resolve(job).framework.written_gelu;
  };
  EXPECT_TRUE(written([](Job&) {}));
  EXPECT_TRUE(written([](Job& j) { j.model.position = Position::alibi; }));  // BLOOM
  EXPECT_FALSE(written([](Job& j) { j.strategy.fused_kernels.activation = true; }));
  EXPECT_FALSE(written([](Job& j) { j.model.bias = false; }));                   // MPT
  EXPECT_FALSE(written([](Job& j) { j.model.kv_heads = 1; }));                   // StarCoder
  EXPECT_FALSE(written([](Job& j) { j.model.causal = false; }));                 // BERT
  EXPECT_FALSE(written([](Job& j) { j.model.position = Position::rope; }));      // GPT-NeoX
  EXPECT_FALSE(written([](Job& j) { j.model.activation = Activation::relu; }));  // OPT
}

TEST(Resolve, ShardedGatedModelsAreTheUsersOwnCode) {
  const auto code = [](int zero, bool gated, Generation generation, bool compiles = true) {
    Job job = small_job();
    job.model.gated_mlp = gated;
    job.strategy.zero = zero;
    job.framework.own_models = true;
    job.framework.compiles_loss_of_2025 = compiles;
    job.framework.shifted_logits = true;
    job.cluster.node.gpu.generation = generation;
    const Framework f = resolve(job).framework;
    EXPECT_EQ(f.shifted_logits, zero < 2);  // the framework's own loss
    return std::pair(f.separate_linears, f.separate_loss);
  };
  EXPECT_EQ(code(3, true, Generation::hopper), std::pair(true, true));
  EXPECT_EQ(code(2, true, Generation::ampere), std::pair(true, true));
  EXPECT_EQ(code(3, true, Generation::blackwell), std::pair(true, false));  // software that compiles the loss
  EXPECT_EQ(code(3, true, Generation::blackwell, false), std::pair(true, true));
  EXPECT_EQ(code(1, true, Generation::hopper), std::pair(false, false));
  EXPECT_EQ(code(3, false, Generation::hopper), std::pair(false, false));
}

TEST(Resolve, TheUsersOwnCodeHasNoKernelsOfTheFrameworks) {
  const auto fused = [](int zero, const auto& with) {
    Job job = small_job();
    job.model.gated_mlp = true;
    job.model.norm = Norm::rmsnorm;
    job.strategy.zero = zero;
    job.framework.own_models = true;
    job.framework.fused.norm = job.framework.fused.rope = job.framework.fused.activation = true;
    with(job);
    const FusedKernels kernels = resolve(job).strategy.fused_kernels;
    return std::vector{*kernels.norm, *kernels.rope, *kernels.activation};
  };
  const auto as_is = [](Job&) {};
  EXPECT_EQ(fused(2, as_is), (std::vector{false, false, false}));
  EXPECT_EQ(fused(1, as_is), (std::vector{true, true, true}));
  // Beside tensor parallelism it is Megatron's, unless DTensor cuts it.
  EXPECT_EQ(fused(2, [](Job& j) { j.strategy.tp = 2; }), (std::vector{true, true, true}));
  EXPECT_EQ(fused(2, [](Job& j) { j.strategy.tp = 2, j.framework.shards_by_dtensor = true; }),
            (std::vector{false, false, false}));
  EXPECT_EQ(fused(3, [](Job& j) { j.strategy.compile = true; }), (std::vector{true, true, true}));
  EXPECT_EQ(fused(3, [](Job& j) { j.strategy.fused_kernels.norm = true; }), (std::vector{true, false, false}));
  EXPECT_TRUE(fused(3, [](Job& j) { j.model.norm = Norm::layernorm; })[0]);
}

TEST(Resolve, TensorParallelBesideShardsIsDTensors) {
  // Gathered inputs stay, the sequence lies behind the batch; code of gated models is younger than checkpoints that
  // stop.
  const auto code = [](int zero, bool sp, bool gated) {
    Job job = small_job();
    job.model.gated_mlp = gated;
    job.strategy.zero = zero;
    job.strategy.tp = 2;
    job.strategy.sp = sp;
    job.framework.own_models = job.framework.shards_by_dtensor = true;
    const Framework f = resolve(job).framework;
    EXPECT_EQ(f.keeps_gathered, f.copies_sequence);
    return std::pair(f.copies_sequence, *f.stops_recompute);
  };
  EXPECT_EQ(code(3, true, true), std::pair(true, true));
  EXPECT_EQ(code(3, false, true), std::pair(false, true));
  EXPECT_EQ(code(3, true, false), std::pair(true, false));
  EXPECT_EQ(code(1, true, true), std::pair(false, true));  // checkpoints are the same without shards
}

TEST(Resolve, AutogradKeepsWhatAMatmulBehindABlockingGatherRead) {
  const auto keeps = [](bool sp, TpOverlap overlap, bool profile) {
    Job job = small_job();
    job.strategy.tp = 2;
    job.strategy.sp = sp;
    job.strategy.overlap.tp = overlap;
    job.framework.keeps_blocking_gathers = profile;
    return resolve(job).framework.keeps_gathered;
  };
  EXPECT_TRUE(keeps(true, TpOverlap::none, true));
  EXPECT_FALSE(keeps(true, TpOverlap::chunked, true));
  EXPECT_FALSE(keeps(false, TpOverlap::none, true));
  EXPECT_FALSE(keeps(true, TpOverlap::none, false));
}

TEST(Resolve, RingsBesideShardsArePyTorchsUnlessTheyKnowDocuments) {
  const auto gathers = [](int zero, int cp, bool packed) {
    Job job = small_job();
    job.strategy.zero = zero;
    job.strategy.cp = cp;
    if (packed) job.training.packing = Packing{};
    job.framework.own_models = job.framework.shards_by_dtensor = true;
    return resolve(job).framework.ring_gathers;
  };
  EXPECT_TRUE(gathers(3, 2, false));
  EXPECT_FALSE(gathers(3, 1, false));
  EXPECT_FALSE(gathers(1, 2, false));
  EXPECT_FALSE(gathers(3, 2, true));
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
  EXPECT_EQ(gradients(0, 1, Dtype::bf16), Dtype::fp32);
  EXPECT_EQ(gradients(1, 2, Dtype::bf16), Dtype::fp32);  // pipelines sum in fp32
  EXPECT_EQ(gradients(1, 1, Dtype::fp16), Dtype::fp32);  // that is fp16_gradients
}

}  // namespace
}  // namespace spec
