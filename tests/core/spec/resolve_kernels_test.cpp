// tests/core/spec/resolve_kernels_test.cpp -- which kernels and whose model code run where the Job says nothing.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "core/spec/stated.h"
#include "tests/core/spec/small_job.h"

namespace spec {
namespace {

TEST(ResolveKernels, ACompilerLeavesTheLossToFrameworksThatCompileBlocks) {
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

TEST(ResolveKernels, AFrameworkThatCompilesEveryStepSaysSoAndCannotBeDenied) {
  Job job = small_job();
  EXPECT_FALSE(resolve(job).strategy.compile);
  job.framework.compiles = true;
  job.framework.name = "jax";
  const Job resolved = resolve(job);
  EXPECT_TRUE(resolved.strategy.compile);
  EXPECT_TRUE(*resolved.strategy.fused_kernels.norm);
  EXPECT_EQ(std::ranges::count(resolved.assumptions, "compile: true (jax compiles every step)"), 1);
  EXPECT_TRUE(check(resolved).empty());
  job.strategy.compile_given = true;
  const std::vector<base::Fault> faults = check(resolve(job));
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults.front().field, "strategy.compile");
}

TEST(ResolveKernels, AnUpdateByAChainOfKernelsTakesLongerAndHasMemoryOfItsOwn) {
  const auto resolved = [](double of_framework, std::optional<bool> fused) {
    Job job = small_job();
    job.framework.optimizer_passes = of_framework;
    job.framework.optimizer_workspace = of_framework > 1 ? 4 : 0;
    job.strategy.fused_kernels.optimizer = fused;
    return resolve(job);
  };
  const auto passes = [&](double f, std::optional<bool> fused) {
    return resolved(f, fused).framework.optimizer_passes;
  };
  const auto bytes = [&](double f, std::optional<bool> fused) {
    return resolved(f, fused).framework.optimizer_workspace;
  };
  EXPECT_EQ(passes(1, {}), 1);
  EXPECT_EQ(passes(1, false), 2.6);  // docs/prices.md
  EXPECT_EQ(bytes(1, false), 4);     // fp32 square roots of second moments
  EXPECT_EQ(passes(2.6, {}), 2.6);
  EXPECT_EQ(passes(2.6, true), 1);
  EXPECT_EQ(bytes(2.6, true), 0);
  const auto told = resolved(2.6, {}).assumptions;
  EXPECT_TRUE(std::ranges::any_of(told, [](auto& a) { return a.starts_with("fused_kernels.optimizer: false"); }));

  Job other = small_job();
  other.training.optimizer = Optimizer::sgd;
  other.strategy.fused_kernels.optimizer = true;
  const std::vector<base::Fault> faults = check(resolve(other));
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults.front().field, "strategy.fused_kernels.optimizer");
}

TEST(ResolveKernels, TrainersThatCompileTheLossSince2025DoSoWhereNothingOlderRuns) {
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

TEST(ResolveKernels, NormsAreTransformerEnginesWhereARunGoesThroughIt) {
  // Of 1,024 numbers, without a tuned kernel. Older GPUs' older code has norms of its own, and some recipes take
  // cuDNN's.
  const auto resolved = [](bool fp8, const auto& with) {
    Job job = small_job();
    job.model.norm = Norm::rmsnorm;
    job.model.kv_heads = job.model.heads;
    job.framework.tuned_norms = {4096};
    job.framework.fused.norm = true;
    job.framework.recipes_of_fp8_gpus = true;
    job.framework.general_norm_sums = base::us(30);
    job.framework.general_norm_sums_of_amd = base::us(500);
    if (!fp8) job.cluster.node.gpu.peak[static_cast<int>(Dtype::fp8)] = {};
    with(job);
    return resolve(job);
  };
  const auto nothing = [](Job&) {};
  const Job general = resolved(true, nothing);
  EXPECT_FALSE(general.framework.tuned_norms.empty());
  EXPECT_TRUE(assumed(general, "norms: general kernels (megatron has no tuned ones of 1024)"));
  EXPECT_TRUE(resolved(false, nothing).framework.tuned_norms.empty());
  EXPECT_FALSE(resolved(false, [](Job& j) { j.model.kv_heads = j.model.heads / 2; }).framework.tuned_norms.empty());
  EXPECT_TRUE(resolved(true, [](Job& j) { j.model.norm = Norm::layernorm; }).framework.tuned_norms.empty());
  EXPECT_FALSE(
      assumed(resolved(true, [](Job& j) { j.framework.tuned_norms.push_back(static_cast<int>(j.model.hidden)); }),
              "norms: general kernels (megatron has no tuned ones of 1024)"));
  EXPECT_EQ(
      resolved(true, [](Job& j) { j.cluster.node.gpu.generation = Generation::cdna3; }).framework.general_norm_sums,
      base::us(500));
}

TEST(ResolveKernels, GroupedMatmulsAreThoseOfTheFrameworkHoweverOftenItIsChanged) {
  Job job = small_job();
  job.cluster.groups.resize(2);
  job.framework.grouped_mm = true;
  Job called = resolve(job);
  EXPECT_TRUE(called.cluster.node.calibration.grouped_mm);
  for (const NodeGroup& group : called.cluster.groups) EXPECT_TRUE(group.node.calibration.grouped_mm);
  Job changed = unresolved(called);
  changed.framework.grouped_mm = false;
  const Job again = resolve(changed);
  EXPECT_FALSE(again.cluster.node.calibration.grouped_mm);
  for (const NodeGroup& group : again.cluster.groups) EXPECT_FALSE(group.node.calibration.grouped_mm);
}

TEST(ResolveKernels, PermutationIsOneKernelWhereTheFrameworkOrItsRecipesHaveIt) {
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

TEST(ResolveKernels, ACompilerFusesElementwiseKernelsOnly) {
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

TEST(ResolveKernels, CompilersThatMayBeOlderThan2024LeaveAnOddVocabularyAsItIs) {
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

TEST(ResolveKernels, AdaptersAreInFp32WhereTheSoftwareIsOf2024AndNothingElseSaysOtherwise) {
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

TEST(ResolveKernels, WithoutAFusedNormRopeAndGatedActivationAreNotFusedEither) {
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

TEST(ResolveKernels, AScaledRotaryEmbeddingIsLeftToEagerKernelsWhereTheFusedOneTakesNoScale) {
  const auto fused = [](double scale, bool takes, std::optional<bool> said = {}) {
    Job j = small_job();
    j.model.position = Position::rope;
    j.model.rope_scale = scale;
    j.framework.fused.rope = true;
    j.framework.scales_fused_rope = takes;
    j.strategy.fused_kernels.rope = said;
    return *resolve(j).strategy.fused_kernels.rope;
  };
  EXPECT_TRUE(fused(1, false));
  EXPECT_TRUE(fused(1.25, true));
  EXPECT_FALSE(fused(1.25, false));
  EXPECT_TRUE(fused(1.25, false, true));  // the job's own word
}

TEST(ResolveKernels, ALossIsFusedByRecipesOfFp8GpusWhereTheFrameworkSaysSo) {
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

TEST(ResolveKernels, GpusWithoutFp8RanTheCodeOfBeforeThoseRecipes) {
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

TEST(ResolveKernels, ModelsOfGpt2sRecipeHaveTheFrameworksDropout) {
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

TEST(ResolveKernels, GeluIsWrittenOutInModelsOfGpt2sRecipeWhoseCodeDoesSo) {
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

TEST(ResolveKernels, ShardedGatedModelsAreTheUsersOwnCode) {
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

TEST(ResolveKernels, TheUsersOwnCodeHasNoKernelsOfTheFrameworks) {
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

TEST(ResolveKernels, TensorParallelBesideShardsIsDTensors) {
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

TEST(ResolveKernels, AutogradKeepsWhatAMatmulBehindABlockingGatherRead) {
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

TEST(ResolveKernels, RingsBesideShardsArePyTorchsUnlessTheyKnowDocuments) {
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

}  // namespace
}  // namespace spec
