// tests/core/config/launch/export_test.cpp -- one Job a framework as a golden text, and what is refused, word for word.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/config/launch/framework.h"
#include "tests/golden.h"

namespace {

using namespace config::launch;

const config::Catalogue& catalogue() {
  static const config::Catalogue all(FORERUN_SOURCE_DIR);
  return all;
}

config::Value job(const std::string& strategy, const std::string& model = "llama3-8b",
                  const std::string& training = "") {
  return config::parse("model: " + model + "\ncluster: {node: dgx-h100, nodes: 2}\n" +
                           "training: {sequence: 8192, global_batch: 64" + training + "}\nstrategy: {" + strategy +
                           "}\n",
                       "job.yaml");
}

/// All files of a launch, with their names.
std::string text_of(const Launch& launch) {
  std::string out;
  for (const File& file : launch.files) out += "==> " + file.name + " <==\n" + file.text;
  for (const std::string& note : launch.notes) out += "note: " + note + '\n';
  return out;
}

std::string refusal(const config::Value& tree, const char* to) {
  try {
    return "written:\n" + text_of(export_job(tree, catalogue(), to));
  } catch (const base::InputError& error) {
    return error.what();
  }
}

const char kMegatron[] =
    "tp: 2, sp: true, pp: 2, schedule: interleaved, vpp: 4, cp: 2, zero: 1, recompute: selective, attention_kernel: "
    "cudnn";

TEST(ExportedJob, OneJobAsMegatronAndItsConfigurationsSayIt) {
  testing_support::expect_golden("launch_megatron.txt", text_of(export_job(job(kMegatron), catalogue(), "megatron")));
  testing_support::expect_golden("launch_megatron_bridge.txt",
                                 text_of(export_job(job(kMegatron), catalogue(), "megatron-bridge")));
  testing_support::expect_golden(
      "launch_nemo.txt",
      text_of(export_job(job(std::string(kMegatron) + ", overlap: {tp: none}"), catalogue(), "nemo")));
}

TEST(ExportedJob, ExpertsAndLatentAttentionAsMegatronSaysThem) {
  const config::Value tree =
      job("tp: 2, sp: true, ep: 8, etp: 1, zero: 1, moe_dispatcher: deepep, recompute: {kind: selective, modules: "
          "[moe_act]}",
          "deepseek-v2", ", precision: fp8, fp8_recipe: blockwise");
  testing_support::expect_golden("launch_megatron_experts.txt", text_of(export_job(tree, catalogue(), "megatron")));
}

// Overrides go on top of a recipe, and NVIDIA's below 16 bits reduce gradients in bf16.
TEST(ExportedJob, GradientsBelow16BitsAreSaidToARecipeEitherWay) {
  const auto says = [](const std::string& what, const std::string& gradients, const std::string& precision) {
    const config::Value tree = config::parse(
        "{model: llama3-8b, cluster: {node: dgx-b200, nodes: 2}, strategy: {tp: 2}, training: {sequence: 8192, "
        "global_batch: 64, precision: " +
            precision + ", gradient_dtype: " + gradients + "}}",
        "job.yaml");
    return text_of(export_job(tree, catalogue(), "megatron-bridge")).find("ddp.grad_reduce_in_fp32=" + what) !=
           std::string::npos;
  };
  for (const char* precision : {"fp8", "mxfp8", "nvfp4"}) {
    EXPECT_TRUE(says("true", "fp32", precision)) << precision;
    EXPECT_TRUE(says("false", "bf16", precision)) << precision;
  }
  EXPECT_FALSE(says("", "fp32", "bf16"));
}

TEST(ExportedJob, OneJobAsTorchtitanSaysIt) {
  const config::Value tree =
      job("tp: 2, sp: true, pp: 2, schedule: interleaved, vpp: 2, zero: 3, recompute: selective_ops, compile: true");
  testing_support::expect_golden("launch_torchtitan.txt", text_of(export_job(tree, catalogue(), "torchtitan")));
}

TEST(ExportedJob, ALossThatIsCompiledUnaskedIsAmongTheComponents) {
  const auto toml = [](const char* model, const std::string& more = "") {
    return refusal(job("zero: 3, compile: true" + more, model), "torchtitan");
  };
  const std::string both = "components = [\"model\", \"loss\"]", model = "components = [\"model\"]";
  EXPECT_NE(toml("qwen3-0.6b").find(both), std::string::npos) << toml("qwen3-0.6b");  // of 2025
  const char* unfused = ", fused_kernels: {cross_entropy: false}";
  const char* fused = ", fused_kernels: {cross_entropy: true}";
  EXPECT_NE(toml("qwen3-0.6b", unfused).find(model), std::string::npos);
  EXPECT_NE(toml("llama3.1-8b").find(model), std::string::npos) << toml("llama3.1-8b");  // of 2024
  EXPECT_NE(toml("llama3.1-8b", fused).find(both), std::string::npos);
  EXPECT_NE(toml("qwen3-0.6b", fused).find("a compiled loss is predicted without this key\n  mend: leave it out"),
            std::string::npos)
      << toml("qwen3-0.6b", fused);
}

TEST(ExportedJob, OneJobAsDeepspeedSaysIt) {
  const config::Value tree = job("zero: 3, offload: {optimizer: cpu}, recompute: full, framework: deepspeed");
  testing_support::expect_golden("launch_deepspeed.txt", text_of(export_job(tree, catalogue(), "deepspeed")));
}

TEST(ExportedJob, OneJobAsAccelerateSaysIt) {
  const config::Value tree = job("zero: 3, shard: 8, recompute: full, framework: torch");
  testing_support::expect_golden("launch_accelerate.txt", text_of(export_job(tree, catalogue(), "accelerate-fsdp")));
}

TEST(ExportedJob, OneJobAsMaxtextSaysIt) {
  const config::Value tree =
      job("tp: 2, sp: true, cp: 2, cp_kind: all_gather, zero: 3, shard: 4, recompute: full, framework: jax");
  testing_support::expect_golden("launch_maxtext.txt", text_of(export_job(tree, catalogue(), "maxtext")));
}

TEST(ExportedJob, WhatMaxtextWouldRefuseIsNotWritten) {
  // 128 ranks share a sequence. One digit less, and MaxText would round all of them down to no sequence.
  config::Value wide = job("tp: 8, sp: true, cp: 16, cp_kind: ring, zero: 3, framework: jax");
  config::set_path(wide, "cluster.nodes", "16", "test");
  const std::string thin = text_of(export_job(wide, catalogue(), "maxtext"));
  EXPECT_NE(thin.find("per_device_batch_size: 0.0078125\n"), std::string::npos) << thin;
  // Transformer Engine packs nothing over context ranks, and otherwise wants a number of documents.
  EXPECT_NE(thin.find("attention: cudnn_flash_te\npacking: false\n"), std::string::npos) << thin;
  const char* experts = "{base: mixtral-8x7b, layers: 4}";
  const std::string sizes = text_of(export_job(job("zero: 3, ep: 8, framework: jax", experts), catalogue(), "maxtext"));
  for (const char* line : {"base_mlp_dim: 14336\n", "base_moe_mlp_dim: 14336\n", "megablox: false\n",
                           "attention: cudnn_flash_te\nmax_segments_per_seq: 32\n"})
    EXPECT_NE(sizes.find(line), std::string::npos) << line << sizes;
  EXPECT_NE(text_of(export_job(job("zero: 3, ep: 16, framework: jax", "qwen3-30b-a3b"), catalogue(), "maxtext"))
                .find("experts inside of nodes or over them, not both"),
            std::string::npos);
  const char* fp8 = ", precision: fp8, fp8_recipe: delayed, fp8_parameters: false, micro_batch: 1";
  EXPECT_NE(
      refusal(job("zero: 3, framework: jax", "llama3-8b", fp8), "maxtext")
          .find("training.fp8_recipe: MaxText cannot say 'delayed' beside accumulated gradients, which it refuses to "
                "train\n  mend: write training.fp8_recipe: tensorwise"),
      std::string::npos);
}

TEST(ExportedJob, MaxtextRefusesAPipelineAndNothingBesideIt) {
  const std::string told = refusal(job("tp: 2, pp: 2, zero: 3, framework: jax"), "maxtext");
  EXPECT_NE(told.find("strategy.pp: MaxText cannot say '2'"), std::string::npos) << told;
  for (const char* key : {"strategy.tp", "strategy.dp", "strategy.zero"}) {
    EXPECT_EQ(told.find(key), std::string::npos) << told;
  }
}

TEST(ExportedJob, SlurmWrapsTheFrameworkOfTheJob) {
  testing_support::expect_golden("launch_slurm.txt",
                                 text_of(export_job(job("zero: 3, framework: torchtitan"), catalogue(), "slurm")));
}

TEST(ExportedJob, AProfileIsStartedAsTheOneThatItIsBasedOn) {
  // Transformers' Trainer runs on Accelerate as its base, torch, does; so does whatever is based on it.
  const Launch launch = export_job(job("zero: 3, framework: {base: transformers, launch: 30us}"), catalogue(), "slurm");
  EXPECT_EQ(launch.files.back().name, "fsdp.yaml");
  EXPECT_EQ(text_of(launch).find("defaults are those of framework"), std::string::npos) << text_of(launch);
  EXPECT_NE(text_of(launch).find("takes framework: torch unless told --framework transformers"), std::string::npos)
      << text_of(launch);
  EXPECT_NE(refusal(job("zero: 3, framework: {base: torch, launcher: axolotl}"), "slurm")
                .find("there is no framework 'axolotl' to launch with"),
            std::string::npos);
}

TEST(ExportedJob, GraphsThatAJobHasUnaskedBesideItsExpertsAreAskedFor) {
  const config::Value tree = config::load(FORERUN_SOURCE_DIR "/workloads/jobs/qwen3-235b-256xgb200.yaml");
  const std::string script = text_of(export_job(tree, catalogue(), "megatron"));
  EXPECT_NE(script.find("--cuda-graph-impl transformer_engine"), std::string::npos) << script;
  EXPECT_NE(script.find("--cuda-graph-scope attn moe_router moe_preprocess"), std::string::npos) << script;
}

TEST(ExportedJob, ABatchScriptStartsTheLauncherOfTheProfile) {
  const auto script = [](const std::string& framework) {
    return export_job(job("zero: 1, framework: " + framework), catalogue(), "slurm").files.front().text;
  };
  EXPECT_NE(script("megatron").find("bash train.sh"), std::string::npos) << script("megatron");
  const std::string bridge = script("{base: megatron, launcher: megatron-bridge}");
  EXPECT_NE(bridge.find("bash bridge.sh"), std::string::npos) << bridge;
  // NeMo's own launcher asks the scheduler for nodes itself.
  EXPECT_NE(refusal(job("zero: 1, framework: {base: megatron, launcher: nemo}"), "slurm").find("has no program"),
            std::string::npos);
}

TEST(ExportedJob, MegatronHasNoZeroBubble) {
  EXPECT_EQ(refusal(job("pp: 4, schedule: zb-v"), "megatron"),
            "job.yaml:4:29: error: strategy.schedule: Megatron-LM cannot say 'zb-v': its schedules are 1F1B and "
            "interleaved 1F1B\n"
            "  mend: write strategy.schedule: interleaved or 1f1b");
}

TEST(ExportedJob, ABlockOfParallelBranchesIsNotMadeSequential) {
  const std::string model = "{base: llama3-8b, parallel_block: true}";
  for (const char* to : {"megatron", "megatron-bridge", "nemo"}) {
    EXPECT_NE(refusal(job("zero: 1", model), to).find("attention and feed-forward follow one another"),
              std::string::npos)
        << to;
  }
}

TEST(ExportedJob, MegatronKnowsFourAttentionKernels) {
  EXPECT_EQ(refusal(job("attention_kernel: flash3"), "megatron"),
            "job.yaml:4:30: error: strategy.attention_kernel: Megatron-LM cannot say 'flash3': --attention-backend is "
            "unfused (scaled masked "
            "softmax), flash (FlashAttention as it is installed) or fused (cuDNN)\n"
            "  mend: write strategy.attention_kernel: fused_softmax, flash2, cudnn or sparse");
}

TEST(ExportedJob, AccelerateHasNoTensorParallelism) {
  EXPECT_EQ(refusal(job("tp: 2, sp: true, zero: 3"), "accelerate-fsdp"),
            "job.yaml:4:16: error: strategy.tp: Accelerate's FSDP cannot say '2': a model of its own tensor-parallel "
            "plan would be needed, "
            "which is the training script's\n  mend: write strategy.tp: 1");
}

TEST(ExportedJob, HowAStepIsRunIsLeftToTheFrameworkWhereNobodyWroteIt) {
  const std::string both = "tp: 8, sp: true, zero: 1, framework: megatron";
  const std::string script = refusal(job(both), "nemo");  // userbuffers by default on GPUs with fp8
  EXPECT_NE(script.find("note: strategy.overlap.tp is left to the framework: predicted is the default of megatron, and "
                        "NeMo cannot say 'userbuffers': they are a callback of its recipes, not a field\n"),
            std::string::npos)
      << script;
  EXPECT_EQ(refusal(job(both + ", overlap: {tp: userbuffers}"), "nemo"),
            "job.yaml:4:73: error: strategy.overlap.tp: NeMo cannot say 'userbuffers': they are a callback of its "
            "recipes, not a field\n  mend: write strategy.overlap.tp: none, or export to megatron-bridge");
}

TEST(ExportedJob, ADefaultThatMakesItAnotherRunIsRefusedAsOne) {
  // torchtitan's tensor parallelism cuts the norms by sequence, and so does its profile, unless it was changed.
  const std::string before = "tp: 2, zero: 3, framework: ";
  EXPECT_TRUE(refusal(job(before + "torchtitan", "llama3.1-8b"), "torchtitan").starts_with("written:"));
  EXPECT_EQ(
      refusal(job(before + "{base: torchtitan, sequence_parallel: false}", "llama3.1-8b"), "torchtitan"),
      "job.yaml:4:11: error: strategy.sp: torchtitan cannot say 'false': its tensor parallelism cuts the norms by "
      "sequence; not written, so the default of torchtitan (changed)\n  mend: write strategy.sp: true");
}

TEST(ExportedJob, APartOfARefusedKeyIsNotToldBesideIt) {
  const std::string told = refusal(job("pp: 4, vocab_parallel: pipeline, vocab_barriers: 2"), "megatron");
  EXPECT_EQ(told,
            "job.yaml:4:35: error: strategy.vocab_parallel: Megatron-LM cannot say 'pipeline': embedding and head stay "
            "on the first and the last stage\n  mend: write strategy.vocab_parallel: tensor");
}

TEST(ExportedJob, PositionsThatAreNotStatedReachAsFarAsTheSequence) {
  const std::string script = refusal(
      job("zero: 1", "{layers: 2, hidden: 1024, heads: 16, ffn: 4096, vocab: 50304, position: learned, bias: true}"),
      "megatron");
  EXPECT_NE(script.find("--max-position-embeddings 8192\n"), std::string::npos) << script;
  EXPECT_NE(script.find("note: model.max_positions is not stated"), std::string::npos) << script;
}

TEST(ExportedJob, WhatIsNoOptionAnywhereIsRefusedByItsKey) {
  for (const char* to : {"megatron", "torchtitan", "deepspeed", "accelerate-fsdp", "maxtext"}) {
    EXPECT_NE(refusal(job("zero: 3, lora: {rank: 16, targets: [qkv]}"), to).find("strategy.lora.rank"),
              std::string::npos)
        << to;
    EXPECT_NE(refusal(job("zero: 3", "llama3-8b", ", packing: {mean: 512}"), to).find("training.packing"),
              std::string::npos)
        << to;
    EXPECT_NE(refusal(job("zero: 3", "llama3-8b", ", mode: prefill"), to).find("training.mode"), std::string::npos)
        << to;
  }
}

TEST(ExportedJob, AScheduleOfOneStageIsNotLost) {
  for (const char* to : {"megatron", "torchtitan", "accelerate-fsdp"})
    EXPECT_NE(refusal(job("schedule: gpipe"), to).find("strategy.schedule"), std::string::npos) << to;
}

TEST(ExportedJob, OtherModelsThanTransformersAndOtherNamesAreTold) {
  EXPECT_NE(refusal(job("zero: 0", "resnet50"), "megatron").find("model: is a list of operators"), std::string::npos);
  EXPECT_NE(refusal(job("zero: 1"), "megaton").find("there is no framework 'megaton'"), std::string::npos);
  EXPECT_NE(refusal(job("zero: 1, framework: none"), "slurm").find("'none' has no program"), std::string::npos);
}

}  // namespace
