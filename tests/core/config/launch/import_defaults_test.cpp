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

}  // namespace
