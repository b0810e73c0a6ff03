// tests/core/config/launch/maxtext_import_test.cpp -- MaxText's configurations, and its arguments in scripts, become
// Jobs. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/core/config/launch/imported_job.h"

namespace {

using testing_support::ImportedJob;

const char kModel[] =
    "base_emb_dim: 4096\nbase_num_query_heads: 32\nbase_num_kv_heads: 8\nbase_mlp_dim: 14336\n"
    "base_num_decoder_layers: 32\nvocab_size: 128256\nmax_target_length: 8192\n";
const char kTwoNodes[] = "{cluster: {node: dgx-h100, nodes: 2}}";

TEST_F(ImportedJob, TheArgumentsOfMaxtextsProgramAreReadOutOfAScript) {
  // As AI-Hypercomputer/maxtext end_to_end/gpu/mixtral/test_8x7b.sh calls it: experts over the eight GPUs, one sequence
  // a GPU. What other commands are given is none of its affair.
  const std::string out =
      read("maxtext", "run.sh",
           "export OUT=gs://bucket\n"
           "python3 prepare.py model_name=llama2-7b\n"
           "python3 MaxText/train.py MaxText/configs/base.yml model_name=mixtral-8x7b hardware=gpu \\\n"
           "  base_output_directory=${OUT} attention=cudnn_flash_te capacity_factor=1.25 \\\n"
           "  dtype=bfloat16 ici_expert_parallelism=-1 ici_fsdp_parallelism=1 max_target_length=1024 \\\n"
           "  megablox=False per_device_batch_size=1 weight_dtype=bfloat16 sparse_matmul=False\n",
           "{cluster: {node: dgx-h100}}");
  for (const char* line : {"model=mixtral-8x7b\n", "strategy.ep=8\n", "strategy.zero=3\n", "training.micro_batch=1\n",
                           "training.global_batch=8\n", "strategy.moe_capacity_factor=1.25\n",
                           "training.master_weights=false\n", "strategy.recompute.kind=full\n"}) {
    EXPECT_TRUE(has(out, line)) << line << out;
  }
}

TEST_F(ImportedJob, WhatAMaxtextMeshLeavesOpenIsFilled) {
  // Four tensor ranks in a node of eight leave two for fsdp, and data parallelism takes the nodes; half a sequence a
  // GPU is two for four ranks, so 2 x 4 replicas x 3 steps.
  const std::string open = std::string(kModel) + "ici_tensor_parallelism: 4\nper_device_batch_size: 0.5\n";
  const std::string out = read("maxtext", "a.yml", open + "gradient_accumulation_steps: 3\n", kTwoNodes);
  for (const char* line : {"model=llama3-8b\n", "strategy.tp=4\n", "strategy.sp=true\n", "strategy.zero=3\n",
                           "strategy.shard=2\n", "training.micro_batch=2\n", "training.global_batch=24\n"}) {
    EXPECT_TRUE(has(out, line)) << line << out;
  }
  EXPECT_TRUE(has(read("maxtext", "a.yml", open, "{}"), "how many there are is not known")) << "no cluster";
  const std::string wrong = read("maxtext", "a.yml", open + "dcn_data_parallelism: 4\n", kTwoNodes);
  EXPECT_TRUE(has(wrong, "the axes over nodes are 4, not 2")) << wrong;
  EXPECT_TRUE(has(read("maxtext", "a.yml", std::string(kModel) + "per_device_batch_size: 0.3\n", kTwoNodes),
                  "per_device_batch_size"));
}

TEST_F(ImportedJob, ACustomPolicyOfMaxtextIsTheOneThatKeepsTheSame) {
  const auto policy = [&](const std::string& tensors) {
    return read("maxtext", "a.yml", std::string(kModel) + "per_device_batch_size: 1\nremat_policy: custom\n" + tensors,
                kTwoNodes);
  };
  const std::string attention = "query_proj: device\nkey_proj: device\nvalue_proj: device\nout_proj: device\n";
  EXPECT_TRUE(has(policy(attention + "mlpwo: device\n"), "strategy.recompute.modules=[core_attn, layernorm, mlp]\n"));
  EXPECT_TRUE(has(policy(attention + "context: device\n"), "strategy.recompute.modules=[layernorm, mlp]\n"));
  EXPECT_TRUE(has(policy(attention + "context: device\nmlpwi: device\n"), "strategy.recompute.kind=none\n"));
  EXPECT_TRUE(has(policy("mlpwo: remat\n"), "strategy.recompute.kind=full\n"));
  EXPECT_TRUE(has(policy("mlpwo: device\n"), "'custom' keeps tensors of which no Job has a name"));
}

}  // namespace
