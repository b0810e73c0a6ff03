// tests/core/config/launch/maxtext_import_test.cpp -- MaxText's configurations, and its arguments in scripts, become
// Jobs. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

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
  for (const char* line : {"model=llama3-8b\n", "strategy.tp=4\n", "strategy.zero=3\n", "strategy.shard=2\n",
                           "training.micro_batch=2\n", "training.global_batch=24\n"}) {
    EXPECT_TRUE(has(out, line)) << line << out;
  }
  EXPECT_TRUE(has(read("maxtext", "a.yml", open, "{}"), "how many there are is not known")) << "no cluster";
  const std::string wrong = read("maxtext", "a.yml", open + "dcn_data_parallelism: 4\n", kTwoNodes);
  EXPECT_TRUE(has(wrong, "the axes over nodes are 4, not 2")) << wrong;
  EXPECT_TRUE(has(read("maxtext", "a.yml", std::string(kModel) + "per_device_batch_size: 0.3\n", kTwoNodes),
                  "per_device_batch_size"));
}

TEST_F(ImportedJob, OneAxisOfMaxtextsMeshTakesWhatIsLeft) {
  const auto mesh = [&](const std::string& axes) {
    return read("maxtext", "a.yml", std::string(kModel) + "per_device_batch_size: 1\n" + axes, kTwoNodes);
  };
  // fsdp does where nothing is said of it.
  EXPECT_TRUE(has(mesh("ici_tensor_parallelism: -1\n"),
                  "a.yml:9:25: error: ici_tensor_parallelism: takes what is left, and so does ici_fsdp_parallelism\n"
                  "  mend: write ici_fsdp_parallelism: 1"));
  EXPECT_TRUE(has(mesh("ici_tensor_parallelism: -1\nici_fsdp_parallelism: 1\n"), "strategy.tp=8\n"));
  EXPECT_TRUE(has(mesh("ici_tensor_parallelism: 0\n"), "'0' is no number of ranks"));
  EXPECT_TRUE(has(mesh("ici_tensor_parallelism: 3\n"),
                  "ici_tensor_parallelism: the axes over the GPUs of a node are 3, not 8"));
  EXPECT_TRUE(has(mesh("ici_tensor_paralelism: 2\n"), "did you mean ici_tensor_parallelism?"));
  const std::string unknown =
      read("maxtext", "a.yml", std::string(kModel) + "per_device_batch_size: 1\n", "{cluster: {node: dgx-h1000}}");
  EXPECT_TRUE(has(unknown, "there is no node 'dgx-h1000'")) << unknown;
  EXPECT_FALSE(has(unknown, "takes what is left")) << unknown;
}

TEST_F(ImportedJob, OptionsOfMaxtextLieOverTheConfigurationThatTheyName) {
  // As src/maxtext/configs/gpu/a3/llama_2_7b/16vm.sh calls it. The configuration lies beside the script.
  const std::string call =
      "python3 -m MaxText.train \"${CONFIGS:-$PWD/configs}\"/models/gpu/llama2_7b.yml run_name=a \\\n"
      "  ici_fsdp_parallelism=8 dcn_data_parallelism=2 per_device_batch_size=2\n";
  EXPECT_TRUE(has(read("maxtext", "run.sh", call, kTwoNodes),
                  "run.sh:1:26: error: llama2_7b.yml: is not there, and says what these options leave out\n"
                  "  mend: put it beside run.sh"));
  std::ofstream(folder_ + "/llama2_7b.yml")
      << "base_config: below.yml\nmodel_name: llama2-7b\nper_device_batch_size: 4\n";
  std::ofstream(folder_ + "/below.yml") << "base_config: base.yml\nmodel_name: llama2-13b\nmax_target_length: 4096\n";
  const std::string out = read("maxtext", "run.sh", call, kTwoNodes);
  for (const char* line : {"model=llama2-7b\n", "training.sequence=4096\n", "training.micro_batch=2\n"})
    EXPECT_TRUE(has(out, line)) << line << out;
  EXPECT_TRUE(has(read("maxtext", "a.yml", "base_config: a.yml\nmodel_name: llama2-7b\n", kTwoNodes),
                  "base_config: is based on itself"));
}

TEST_F(ImportedJob, TheFirstCallOfMaxtextsProgramIsReadWhateverIsSaidOfIt) {
  // Quotes inside of a text are Python's to take away; lines of a text in double quotes go on.
  const std::string out =
      read("maxtext", "run.sh",
           "echo \"as MaxText/train.py has it\" MaxText/train.py\n"
           "S=\"base.yml model_name=llama3-8b \\\n attention='dot_product' per_device_batch_size=1\"\n"
           "bash -c \"python3 MaxText/train.py $S\"\n"
           "python3 MaxText/train.py base.yml model_name=llama3-70b\n",
           "{cluster: {node: dgx-h100}}");
  EXPECT_TRUE(has(out, "model=llama3-8b\n")) << out;
  EXPECT_TRUE(has(out, "strategy.attention_kernel=unfused\n")) << out;
}

TEST_F(ImportedJob, SizesBesideAModelOfMaxtextCountWhereTheyOverrideIt) {
  const auto model = [&](const std::string& options) {
    return read("maxtext", "a.yml", "per_device_batch_size: 1\n" + options, "{cluster: {node: dgx-h100}}");
  };
  const auto call = [&](const std::string& options) {
    return read("maxtext", "run.sh", "python3 train.py base.yml per_device_batch_size=1 " + options + '\n',
                "{cluster: {node: dgx-h100}}");
  };
  const char* sized = "model_name=mixtral-8x7b base_num_decoder_layers=5 base_mlp_dim=1_024";
  EXPECT_TRUE(has(call(sized), "model=mixtral-8x7b\n"));
  const std::string out = call(std::string(sized) + " override_model_config=True");
  for (const char* line : {"model.base=mixtral-8x7b\n", "model.layers=5\n", "model.moe.ffn=1024\n"})
    EXPECT_TRUE(has(out, line)) << line << out;
  EXPECT_TRUE(has(call("model_name=llama3-8b override_model_config=True vocab_size=128_256"), "model=llama3-8b\n"));
  EXPECT_TRUE(has(model("model_name: mixtral-8x7b\nbase_num_decoder_layers: 5\noverride_model_config: true\n"),
                  "model=mixtral-8x7b\n"))
      << "a configuration's sizes are the model's own even so";
  EXPECT_TRUE(has(model("num_experts: 4\nbase_mlp_dim: 512\nbase_moe_mlp_dim: 512\n"), "model.moe.ffn=512\n"));
  EXPECT_TRUE(has(model("decoder_block: gpt_oss\n"), "decoder_block: 'gpt_oss' is neither llama2 nor mixtral"));
  EXPECT_TRUE(has(model("sliding_window_size: 128\n"), "sliding_window_size: '128' makes the model another one"));
  EXPECT_TRUE(
      has(read("maxtext", "a.yml", "per_device_batch_size: 1\ndecoder_block: gpt_oss\nsliding_window_size: 128\n",
               "{model: gpt-oss-20b, cluster: {node: dgx-h100}}"),
          "model=gpt-oss-20b\n"));
}

TEST_F(ImportedJob, TokensOfMaxtextAreDroppedWhereExpertsAreDense) {
  const auto experts = [&](const std::string& options, const std::vector<std::string>& ignored = {}) {
    return read("maxtext", "a.yml", "model_name: mixtral-8x7b\nper_device_batch_size: 1\n" + options,
                "{cluster: {node: dgx-h100}}", ignored);
  };
  EXPECT_TRUE(has(experts("capacity_factor: 1.25\nsparse_matmul: false\n"), "strategy.moe_capacity_factor=1.25\n"));
  EXPECT_FALSE(has(experts("capacity_factor: 1.25\n"), "moe_capacity_factor"));
  EXPECT_TRUE(has(experts("sparse_matmul: false\n"), "has every expert compute every token"));
  EXPECT_TRUE(
      has(experts("sparse_matmul: false\n", {"sparse_matmul"}), "# ignored because --ignore says so: sparse_matmul"));
  EXPECT_TRUE(
      has(read("maxtext", "a.yml", std::string(kModel) + "per_device_batch_size: 1\nsparse_matmul: false\n", kTwoNodes),
          "model=llama3-8b\n"))
      << "of no effect without experts";
}

TEST_F(ImportedJob, MomentsOfMaxtextHaveTheWeightsType) {
  const auto moments = [&](const std::string& options) {
    return read("maxtext", "a.yml", std::string(kModel) + "per_device_batch_size: 1\n" + options, kTwoNodes);
  };
  EXPECT_FALSE(has(moments(""), "moments_dtype"));
  const std::string narrow =
      moments("weight_dtype: bfloat16\nmu_dtype: bfloat16\nquantization: te_fp8_currentscaling\n");
  for (const char* line :
       {"training.master_weights=false\n", "training.moments_dtype=bf16\n", "training.fp8_recipe=tensorwise\n"})
    EXPECT_TRUE(has(narrow, line)) << line << narrow;
}

TEST_F(ImportedJob, MaxtextsFusedAttentionIsCudnnsWhereThereIsCudnn) {
  const auto kernel = [&](const char* node) {
    const std::string out = read("maxtext", "a.yml", "model_name: llama3-8b\nattention: cudnn_flash_te\n",
                                 std::string("{cluster: {node: ") + node + "}}");
    return has(out, "strategy.attention_kernel=cudnn\n")    ? "cudnn"
           : has(out, "strategy.attention_kernel=flash2\n") ? "flash2"
                                                            : out;
  };
  EXPECT_EQ(kernel("dgx-h100"), "cudnn");
  EXPECT_EQ(kernel("mi300x-x8"), "flash2");
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
  EXPECT_TRUE(has(policy(attention + "moe_mlpwi_0: device\nmoe_mlpwi_1: device\n"),
                  "strategy.recompute.modules=[core_attn]\n"));
  EXPECT_TRUE(has(policy("mlpwo: remat\n"), "strategy.recompute.kind=full\n"));
  EXPECT_TRUE(has(policy("mlpwo: device\nmoe_mlpwo: device\n"), "strategy.recompute.kind=full\n"));
  EXPECT_TRUE(has(policy("context: device\n"), "'custom' keeps tensors of which no Job has a name"));
  EXPECT_TRUE(has(policy(attention + "mlpwi: offload\n"), "'custom' keeps tensors on the host, which no Job does"));
}

}  // namespace
