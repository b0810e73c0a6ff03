// tests/core/config/launch/import_defaults_test.cpp -- what files leave to their framework, and what they may say.
// SPDX-License-Identifier: Apache-2.0
#include "tests/core/config/launch/imported_job.h"

namespace {

using testing_support::ImportedJob;

const std::string kSmallGpt =
    "--num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 1024 --max-position-embeddings 1024 "
    "--micro-batch-size 4 --bf16 ";
const char kOneNode[] = "{cluster: {node: dgx-h100}}";
const char kLlamaOnANode[] =
    "{model: llama3-8b, cluster: {node: dgx-h100}, training: {sequence: 4096, global_batch: 64}}";

TEST_F(ImportedJob, AVocabularyThatIsPaddedLessThanUsualStaysAsItIs) {
  // Megatron pads to 128 rows a tensor-parallel rank; 50257 = 392 x 128 + 81.
  const auto of = [&](const std::string& flags) { return read("megatron", "a.sh", kSmallGpt + flags, kOneNode); };
  const std::string whole = of("--vocab-size 50257");
  EXPECT_TRUE(has(whole, "strategy.framework=megatron\n")) << whole;
  for (const char* flags : {"--vocab-size 50257 --make-vocab-size-divisible-by 1", "--padded-vocab-size 50257"}) {
    const std::string out = of(flags);
    EXPECT_TRUE(has(out, "strategy.framework.base=megatron\n")) << out;
    EXPECT_TRUE(has(out, "strategy.framework.vocab_multiple=1\n")) << out;
  }
  // 50304 rows are 786 x 64, and no multiple of 2 x 128.
  const std::string halves = of("--vocab-size 50257 --make-vocab-size-divisible-by 32 --tensor-model-parallel-size 2");
  EXPECT_TRUE(has(halves, "model.vocab=50304\n")) << halves;
  EXPECT_TRUE(has(halves, "strategy.framework.vocab_multiple=32\n")) << halves;
}

TEST_F(ImportedJob, WithoutABatchMegatronTakesAMicrobatchOfEachReplica) {
  const std::string out =
      read("megatron", "a.sh", kSmallGpt + "--vocab-size 50257 --tensor-model-parallel-size 2", kOneNode);
  EXPECT_TRUE(has(out, "training.global_batch=16\n")) << out;  // 8 GPUs / 2 x 4
}

TEST_F(ImportedJob, DegreesOfFlagsGoBeforeThoseOfTheFile) {
  // tp 2 of the flags and pp 2 of the file leave two replicas of a microbatch of 8; 50304 rows are no multiple of
  // 2 x 128, which the profile would pad to.
  const std::string out =
      read("megatron", "a.sh", kSmallGpt + "--padded-vocab-size 50304 --pipeline-model-parallel-size 2",
           "{cluster: {node: dgx-h100}, training: {micro_batch: 8}, strategy: {tp: 2, framework: megatron}}");
  for (const char* key :
       {"training.global_batch=16\n", "strategy.framework.base=megatron\n", "strategy.framework.vocab_multiple=1\n"})
    EXPECT_TRUE(has(out, key)) << key << out;
}

TEST_F(ImportedJob, WhatAnOptionMayBeIsNamed) {
  EXPECT_EQ(read("megatron", "a.sh", kSmallGpt + "--vocab-size 50257 --cp-comm-type a2a+p2p", kOneNode),
            "a.sh:1:172: error: cp-comm-type: cp-comm-type a2a+p2p is nothing that a Job can say\n"
            "  mend: write cp-comm-type p2p or cp-comm-type all_gather or cp-comm-type allgather or cp-comm-type a2a");
}

TEST_F(ImportedJob, AccelerateWithoutShardsIsDdp) {
  const std::string out = read("accelerate-fsdp", "a.yaml",
                               "{distributed_type: FSDP, mixed_precision: bf16, num_machines: 1,\n"
                               " fsdp_config: {fsdp_sharding_strategy: NO_SHARD}}",
                               kLlamaOnANode);
  EXPECT_TRUE(has(out, "strategy.zero=0\n")) << out;
  EXPECT_FALSE(has(out, "fsdp.unit")) << out;
}

TEST_F(ImportedJob, AcceleratesProcessesDivideOverItsMachines) {
  EXPECT_EQ(read("accelerate-fsdp", "a.yaml",
                 "{distributed_type: FSDP, mixed_precision: bf16, num_machines: 2, num_processes: 15}", kLlamaOnANode),
            "a.yaml:1:81: error: num_processes: 15 do not divide over 2 machines\n"
            "  mend: write a multiple of num_machines");
}

TEST_F(ImportedJob, WhatAScriptReadsAndDoesNotSetIsGiven) {
  // Arguments and the environment; what the script sets itself stays so. $10 is $1 and a 0, as in a shell.
  const std::string script =
      "TP=$1\nPP=${2:-1}\nMB=2\n"
      "torchrun pretrain_gpt.py " +
      kSmallGpt +
      "--vocab-size 5$10 --tensor-model-parallel-size $TP "
      "--pipeline-model-parallel-size $PP --global-batch-size $((MB * REPLICAS))";
  const auto with = [&](const std::map<std::string, std::string>& variables) {
    return read("megatron", "a.sh", script, kOneNode, {}, variables);
  };
  const std::string out = with({{"1", "2"}, {"MB", "7"}, {"REPLICAS", "16"}});
  EXPECT_EQ(out,
            "error: --variable: nothing in a.sh reads a variable 'MB' that it does not set\n"
            "  mend: leave it out");
  const std::string right = with({{"1", "2"}, {"2", "2"}, {"REPLICAS", "16"}});
  for (const char* key : {"strategy.tp=2\n", "strategy.pp=2\n", "training.global_batch=32\n", "model.vocab=768\n"})
    EXPECT_TRUE(has(right, key)) << key << right;
  // As a shell has it, an empty one is none where the script says so.
  EXPECT_TRUE(has(with({{"1", "2"}, {"2", ""}, {"REPLICAS", "16"}}), "strategy.tp=2\n"));
  EXPECT_TRUE(has(with({{"REPLICAS", "16"}}),
                  "tensor-model-parallel-size: '$1' is a variable that the text does not set\n"
                  "  mend: write its value in its place, or add --variable 1=VALUE"));
}

}  // namespace
