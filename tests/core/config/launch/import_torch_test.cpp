// tests/core/config/launch/import_torch_test.cpp -- what torchtitan, DeepSpeed and Accelerate are told beside the flags
// of a Job. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/core/config/launch/imported_job.h"

namespace {

using testing_support::ImportedJob;

const char kCluster[] = "{cluster: {node: dgx-h100, nodes: 2}}";

TEST_F(ImportedJob, TorchtitansLeftoverDegreeNeedsTheCluster) {
  const std::string toml =
      "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nseq_len = 8192\nlocal_batch_size = 2\n"
      "[parallelism]\ntensor_parallel_degree = 2\n[activation_checkpoint]\nmode = \"full\"\n";
  // 16 GPUs over tp 2 are 8 replicas of 2 sequences.
  const std::string out = read("torchtitan", "a.toml", toml, kCluster);
  EXPECT_TRUE(has(out, "model=llama3.1-8b\n") && has(out, "training.global_batch=16\n") &&
              has(out, "strategy.zero=3\n"))
      << out;
  EXPECT_TRUE(has(read("torchtitan", "a.toml", toml, "{}"), "add --node and --nodes"));
}

TEST_F(ImportedJob, TorchtitansReplicasFollowFromDegreesThatAreGiven) {
  const auto out = [&](const std::string& given) {
    return read("torchtitan", "a.toml",
                "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nseq_len = 8192\nlocal_batch_size = 2\n"
                "[activation_checkpoint]\nmode = \"full\"\n",
                "{cluster: {node: dgx-h100, nodes: 2}" + given + "}");
  };
  EXPECT_TRUE(has(out(""), "training.global_batch=32\n"));                     // 16 GPUs, two sequences each
  EXPECT_TRUE(has(out(", strategy: {tp: 2}"), "training.global_batch=16\n"));  // 8 replicas
}

TEST_F(ImportedJob, ACompiledLossIsAKeyOnlyWhereItIsNotCompiledUnasked) {
  const auto out = [&](const std::string& model, const std::string& components) {
    return read("torchtitan", "a.toml",
                "[model]\n" + model + "\n[training]\nseq_len = 8192\nlocal_batch_size = 2\n[activation_checkpoint]\n" +
                    "mode = \"none\"\n[compile]\nenable = true\n" + components,
                kCluster);
  };
  const std::string of_2025 = "name = \"qwen3\"\nflavor = \"0.6B\"", of_2024 = "name = \"llama3\"\nflavor = \"8B\"";
  for (const char* both : {"", "components = [\"model\", \"loss\"]\n"}) {
    EXPECT_TRUE(has(out(of_2025, both), "strategy.compile=true\n")) << out(of_2025, both);
    EXPECT_FALSE(has(out(of_2025, both), "cross_entropy")) << out(of_2025, both);
    EXPECT_TRUE(has(out(of_2024, both), "strategy.fused_kernels.cross_entropy=true\n")) << out(of_2024, both);
  }
  EXPECT_TRUE(has(out(of_2025, "components = [\"model\"]\n"), "strategy.fused_kernels.cross_entropy=false\n"));
}

TEST_F(ImportedJob, TorchtitansOptimizerIsOneKernelOrAChain) {
  for (const auto& [told, key] : {std::pair{"fused", "true"}, {"foreach", "false"}}) {
    const std::string out =
        read("torchtitan", "a.toml",
             "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nseq_len = 8192\nlocal_batch_size = 2\n"
             "[activation_checkpoint]\nmode = \"full\"\n[optimizer]\nimplementation = \"" +
                 std::string(told) + "\"\n",
             kCluster);
    EXPECT_TRUE(has(out, std::string("strategy.fused_kernels.optimizer=") + key + "\n")) << out;
  }
}

TEST_F(ImportedJob, AScheduleWithoutStagesIsNotRead) {
  const std::string out =
      read("torchtitan", "a.toml",
           "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nseq_len = 8192\nlocal_batch_size = "
           "2\n[parallelism]\npipeline_parallel_degree = 1\npipeline_parallel_schedule = "
           "\"Interleaved1F1B\"\n[activation_checkpoint]\nmode = \"full\"\n",
           kCluster);
  EXPECT_TRUE(has(out, "model=llama3.1-8b\n")) << out;
}

TEST_F(ImportedJob, ConvertersThatAreNotSwitchedOnSayNothing) {
  const auto toml = [](const std::string& converters) {
    return "[model]\nname = \"llama3\"\nflavor = \"8B\"\n" + converters +
           "\n[training]\nseq_len = 8192\n[activation_checkpoint]\nmode = \"none\"\n[quantize.linear.float8]\n"
           "enable_fsdp_float8_all_gather = false\nfilter_fqns = [\"output\"]\n";
  };
  const std::string note = "# quantize.linear.float8.filter_fqns [output]: all linears of a block are predicted in fp8";
  const std::string idle = read("torchtitan", "a.toml", toml("# converters = [\"quantize.linear.float8\"]"), kCluster);
  EXPECT_TRUE(has(idle, "model=llama3.1-8b\n") && !has(idle, "filter_fqns")) << idle;
  EXPECT_TRUE(has(idle, "# options without effect on time and memory: 1\n")) << idle;
  EXPECT_TRUE(has(read("torchtitan", "a.toml", toml("converters = [\"quantize.linear.float8\"]"), kCluster), note));
}

TEST_F(ImportedJob, TomlIsToldByItsPlace) {
  EXPECT_TRUE(has(read("torchtitan", "a.toml", "[model]\nname = \n", kCluster), "a.toml:2:8: error: TOML:"));
  EXPECT_TRUE(has(read("torchtitan", "a.toml",
                       "[training]\nseq_len = 8192\nspeed = 3\n[activation_checkpoint]\nmode = \"none\"\n", kCluster),
                  "a.toml:3:9: error: training.speed: is not known"));
}

TEST_F(ImportedJob, DeepspeedsBatchSizesSettleTheReplicas) {
  // 64 = 2 x 2 x 16
  const std::string out =
      read("deepspeed", "a.json",
           R"({"train_batch_size": 64, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 2,
          "gradient_clipping": 1.0, "bf16": {"enabled": true},
          "zero_optimization": {"stage": 2, "overlap_comm": true, "reduce_bucket_size": 5e8}})",
           "{model: llama3-8b, cluster: {node: dgx-h100, nodes: 2}, training: {sequence: 4096}}");
  EXPECT_TRUE(has(out, "strategy.dp=16\n") && has(out, "strategy.overlap.grad_reduce=true\n")) << out;
  EXPECT_TRUE(has(out, "# zero_optimization.reduce_bucket_size 5e8: the profile's buckets are predicted")) << out;
}

TEST_F(ImportedJob, ABatchOfDeepspeedsThatOtherGpusWouldMakeIsToldAtItsPlace) {
  // 64 = 2 x 4 x 8, but there are 16 GPUs.
  const std::string out =
      read("deepspeed", "a.json",
           R"({"train_batch_size": 64, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4,
          "bf16": {"enabled": true}})",
           "{model: llama3-8b, cluster: {node: dgx-h100, nodes: 2}, training: {sequence: 4096}}");
  EXPECT_TRUE(has(out, "a.json:1:")) << out;
  EXPECT_TRUE(has(out, "64 is not micro batch 2 x 4 accumulation steps x 16 replicas")) << out;
  EXPECT_TRUE(has(out, "write 128, mend one of the three, or name a cluster of 8 replicas")) << out;
}

TEST_F(ImportedJob, DeepspeedsReplicasAreWhatThePipelineLeaves) {
  // 16 GPUs over 4 stages are 4 replicas of 2 x 8 sequences.
  const std::string given =
      "{model: llama3-8b, cluster: {node: dgx-h100, nodes: 2}, training: {sequence: 4096}, strategy: {pp: 4}}";
  EXPECT_TRUE(
      has(read("deepspeed", "a.json",
               R"({"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 8, "bf16": {"enabled": true}})",
               given),
          "training.global_batch=64\n"));
  EXPECT_TRUE(
      has(read("deepspeed", "a.json",
               R"({"train_batch_size": 64, "gradient_accumulation_steps": 3, "bf16": {"enabled": true}})", given),
          "train_batch_size: is no multiple of 3 accumulation steps x 4 replicas"));
}

TEST_F(ImportedJob, AnAutomaticPrecisionIsNotFp32) {
  EXPECT_FALSE(
      has(read("deepspeed", "a.json",
               R"({"fp16": {"enabled": "auto"}, "bf16": {"enabled": "auto"}, "zero_optimization": {"stage": 3}})",
               "{model: llama3-8b, cluster: {node: dgx-h100}, training: {sequence: 4096, global_batch: 8}}"),
          "fp32"));
}

TEST_F(ImportedJob, WhatATrainerFillsInIsTheFlagsToSay) {
  const std::string json =
      R"({"train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto",
          "bf16": {"enabled": "auto"}, "zero_optimization": {"stage": 3}})";
  const std::string out = read(
      "deepspeed", "a.json", json,
      "{model: llama3-8b, cluster: {node: dgx-h100}, training: {sequence: 4096, global_batch: 8, precision: bf16}}");
  EXPECT_TRUE(has(out, "training.global_batch=8\n") &&
              has(out, "# auto, so by the flags or the Job's defaults: train_batch_size"))
      << out;
  EXPECT_TRUE(has(read("deepspeed", "a.json", json, "{model: llama3-8b, cluster: {node: dgx-h100}}"),
                  "training.global_batch: is missing"));
}

TEST_F(ImportedJob, AShardingStrategyBesideVersionTwoMustSayTheSame) {
  const auto with = [&](const std::string& options) {
    return read("accelerate-fsdp", "a.yaml",
                "{distributed_type: FSDP, mixed_precision: bf16, num_machines: 1, num_processes: 8, fsdp_config: "
                "{fsdp_version: 2, " +
                    options + "}}",
                "{model: llama3-8b, cluster: {node: dgx-h100}, training: {sequence: 4096, global_batch: 32}}");
  };
  const std::string full = with("fsdp_sharding_strategy: FULL_SHARD");
  EXPECT_TRUE(has(full, "strategy.zero=3\n") && has(full, "strategy.fsdp.reshard=true\n") &&
              has(full, "is of version 1"))
      << full;
  const std::string kept = with("fsdp_sharding_strategy: SHARD_GRAD_OP, fsdp_reshard_after_forward: false");
  EXPECT_TRUE(has(kept, "strategy.fsdp.reshard=false\n")) << kept;
  EXPECT_TRUE(has(with("fsdp_sharding_strategy: SHARD_GRAD_OP"), "does not say the same"));
}

TEST_F(ImportedJob, HybridShardStaysInsideOfAMachine) {
  const std::string yaml =
      "{distributed_type: FSDP, mixed_precision: bf16, num_machines: 2, num_processes: 16, fsdp_config: "
      "{fsdp_sharding_strategy: HYBRID_SHARD}}";
  const std::string out =
      read("accelerate-fsdp", "a.yaml", yaml,
           "{model: llama3-8b, cluster: {node: dgx-h100}, training: {sequence: 4096, global_batch: 32}}");
  EXPECT_TRUE(has(out, "strategy.shard=8\n") && has(out, "strategy.zero=3\n") && has(out, "cluster.nodes=2\n")) << out;
  EXPECT_TRUE(has(read("accelerate-fsdp", "a.yaml", "{distributed_type: DEEPSPEED, num_machines: 1}", kCluster),
                  "distributed_type: cannot be taken in"));
}

}  // namespace
