// tests/core/config/launch/import_test.cpp -- configurations as others write them become Jobs; every option that is not
// understood is told, with its place. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/core/config/launch/imported_job.h"

namespace {

using namespace config::launch;

using testing_support::ImportedJob;

const char kGpt[] =
    "--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 --group-query-attention "
    "--num-query-groups 8 "
    "--swiglu --normalization RMSNorm --position-embedding-type rope --untie-embeddings-and-output-weights "
    "--disable-bias-linear "
    "--seq-length 4096 --global-batch-size 32 --micro-batch-size 1 --bf16 --attention-dropout 0 --hidden-dropout 0.0 ";
const std::string kLlama = std::string(kGpt) + "--padded-vocab-size 128256 --max-position-embeddings 8192 ";
const char kCluster[] = "{cluster: {node: dgx-h100, nodes: 2}}";

TEST_F(ImportedJob, AShapeOfTheCatalogueGoesByItsName) {
  const std::string out = read("megatron", "a.sh", kLlama, kCluster);
  EXPECT_TRUE(has(out, "model=llama3-8b\n")) << out;
}

// Without a dense layer Megatron takes the experts' width for all, where config.json keeps one that no layer has; and
// of shared experts it knows what they come to side by side.
TEST_F(ImportedJob, AShapeIsKnownByWhatItsLayersHave) {
  const std::string usual =
      "--swiglu --normalization RMSNorm --position-embedding-type rope "
      "--untie-embeddings-and-output-weights --disable-bias-linear --seq-length 4096 "
      "--global-batch-size 32 --micro-batch-size 1 --bf16 ";
  const std::string qwen =
      usual +
      "--num-layers 48 --hidden-size 2048 --ffn-hidden-size 768 --num-attention-heads 32 --kv-channels 128 "
      "--group-query-attention --num-query-groups 4 --qk-layernorm --num-experts 128 --moe-router-topk 8 "
      "--moe-ffn-hidden-size 768 --padded-vocab-size 151936 --max-position-embeddings 40960 ";
  const std::string named = read("megatron", "q.sh", qwen, kCluster);
  EXPECT_TRUE(has(named, "model=qwen3-30b-a3b\n")) << named;
  const std::string deepseek =
      usual +
      "--num-layers 60 --hidden-size 5120 --ffn-hidden-size 12288 --num-attention-heads 128 --multi-latent-attention "
      "--q-lora-rank 1536 --kv-lora-rank 512 --qk-head-dim 128 --qk-pos-emb-head-dim 64 --v-head-dim 128 "
      "--num-experts 160 --moe-router-topk 6 --moe-ffn-hidden-size 1536 --moe-shared-expert-intermediate-size 3072 "
      "--moe-layer-freq '([0]*1+[1]*59)' --qk-layernorm --moe-router-num-groups 8 --moe-router-group-topk 3 "
      "--padded-vocab-size 102400 --max-position-embeddings 163840 ";
  const std::string grouped = read("megatron", "d.sh", deepseek, kCluster);
  EXPECT_TRUE(has(grouped, "model=deepseek-v2\n")) << grouped;
}

TEST_F(ImportedJob, MuonIsDealtToTheRanksByAnOptimizerOfItsOwn) {
  const auto states = [&](const std::string& flags) {
    const std::string out =
        read("megatron", "m.sh", std::string(kGpt) + "--padded-vocab-size 128256 " + flags, kCluster);
    std::string found;
    for (const char* line :
         {"training.optimizer=muon\n", "training.optimizer=adamw\n", "strategy.zero=0\n", "strategy.zero=1\n"}) {
      if (has(out, line)) found += line;
    }
    return found;
  };
  EXPECT_EQ(states("--optimizer muon"), "training.optimizer=muon\nstrategy.zero=0\n");
  EXPECT_EQ(states("--optimizer dist_muon"), "training.optimizer=muon\nstrategy.zero=1\n");
  EXPECT_EQ(states("--use-distributed-optimizer"), "training.optimizer=adamw\nstrategy.zero=1\n");
}

TEST_F(ImportedJob, SquaredReluAndWhatLayersOfLlama4HaveAreKeys) {
  std::string text = std::string(kGpt) +
                     "--squared-relu --qk-l2-norm --no-rope-freq 4 --padded-vocab-size 256000 "
                     "--max-position-embeddings 4096";
  text.erase(text.find("--swiglu "), std::string("--swiglu ").size());
  const std::string out = read("megatron", "a.sh", text, kCluster);
  EXPECT_TRUE(has(out, "model.activation=squared_relu\n")) << out;
  EXPECT_TRUE(has(out, "model.qk_norm=unscaled\n")) << out;
  EXPECT_TRUE(has(out, "model.nope_every=4\n")) << out;
}

TEST_F(ImportedJob, TheVocabularyIsPaddedAsMegatronPadsIt) {
  // 50257 to a multiple of 128 x 2 is 50432.
  const std::string out = read(
      "megatron", "a.sh",
      std::string(kGpt) + "--vocab-size 50257 --tensor-model-parallel-size 2 --max-position-embeddings 4096", kCluster);
  EXPECT_TRUE(has(out, "model.vocab=50432\n")) << out;
}

TEST_F(ImportedJob, LayersOfAVirtualStageBecomeChunks) {
  // 32 layers on 4 stages in chunks of 2: 4 chunks a stage.
  const std::string out =
      read("megatron", "a.sh", kLlama + "--pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 2",
           kCluster);
  EXPECT_TRUE(has(out, "strategy.schedule=interleaved\nstrategy.vpp=4\n")) << out;
}

TEST_F(ImportedJob, SavedArgumentsAreReadByTheirVariables) {
  const std::string out =
      read("megatron", "args.yaml",
           "{num_layers: 32, hidden_size: 4096, ffn_hidden_size: 14336, num_attention_heads: 32, "
           "group_query_attention: true,\n"
           " num_query_groups: 8, swiglu: true, normalization: RMSNorm, position_embedding_type: rope, "
           "add_bias_linear: false,\n"
           " untie_embeddings_and_output_weights: true, padded_vocab_size: 128256, max_position_embeddings: 8192, "
           "seq_length: 4096,\n"
           " global_batch_size: 32, micro_batch_size: 1, bf16: true, fp16: false, fp8: null, attention_dropout: 0.0, "
           "hidden_dropout: 0.0,\n"
           " sequence_parallel: true, tensor_model_parallel_size: 2, apply_rope_fusion: false, lr: 0.0003}",
           kCluster);
  EXPECT_TRUE(has(out, "model=llama3-8b\n")) << out;
  EXPECT_TRUE(has(out, "strategy.fused_kernels.rope=false\n")) << out;
  EXPECT_TRUE(has(out, "# options without effect on time and memory: 1\n")) << out;
}

TEST_F(ImportedJob, PermutationIsFusedWhereAskedFor) {
  const std::string experts =
      "--num-layers 2 --hidden-size 1024 --num-attention-heads 8 --padded-vocab-size 1024 --seq-length 4096 "
      "--max-position-embeddings 4096 --global-batch-size 32 --micro-batch-size 1 --bf16 --num-experts 8 "
      "--moe-grouped-gemm";
  const std::string plain = read("megatron", "a.sh", experts, kCluster);
  EXPECT_TRUE(has(plain, "strategy.fused_kernels.permute=false\n")) << plain;
  const std::string fused = read("megatron", "a.sh", experts + " --moe-permute-fusion", kCluster);
  EXPECT_TRUE(has(fused, "strategy.fused_kernels.permute=true\n")) << fused;
}

TEST_F(ImportedJob, SavedArgumentsMaySpellTheirBooleansAsPythonDoes) {
  const std::string rest =
      ", num_layers: 2, hidden_size: 1024, num_attention_heads: 8, padded_vocab_size: 1024, seq_length: 4096, "
      "max_position_embeddings: 4096, global_batch_size: 32, micro_batch_size: 1, bf16: True, "
      "tensor_model_parallel_size: 2}";
  const auto same = [&](const char* python, const char* yaml) {
    EXPECT_EQ(read("megatron", "a.yaml", python + rest, kCluster), read("megatron", "a.yaml", yaml + rest, kCluster));
  };
  same("{sequence_parallel: False, add_bias_linear: False", "{sequence_parallel: false, add_bias_linear: false");
  same("{sequence_parallel: True, add_bias_linear: True", "{sequence_parallel: true, add_bias_linear: true");
  EXPECT_FALSE(has(read("megatron", "a.yaml", "{sequence_parallel: False" + rest, kCluster), "strategy.sp=true"));
}

TEST_F(ImportedJob, RecipesHoldArgumentsBesideContainersAndVariables) {
  const std::string rest =
      "num_layers: 2, hidden_size: 1024, num_attention_heads: 8, padded_vocab_size: 1024, seq_length: 4096, "
      "max_position_embeddings: 4096, global_batch_size: 32, micro_batch_size: 1, bf16: true}";
  const std::string plain = read("megatron", "a.yaml", "{" + rest, kCluster);
  EXPECT_TRUE(has(plain, "model.layers=2\n")) << plain;
  const std::string recipe = read(
      "megatron", "a.yaml", "{DEPENDENCIES: {image: x}, ENV_VARS: {NCCL_DEBUG: INFO}, ARGS: {" + rest + "}", kCluster);
  EXPECT_EQ(recipe, plain + "# DEPENDENCIES, ENV_VARS: beside the arguments, not read\n");
  EXPECT_EQ(read("megatron", "a.yaml",
                 "{MODEL_ARGS: {--num-layers: 2, --hidden-size: 1024, --num-attention-heads: 8, "
                 "--padded-vocab-size: 1024, --seq-length: 4096, --max-position-embeddings: 4096, "
                 "--global-batch-size: 32, --micro-batch-size: 1, --bf16: true}}",
                 kCluster),
            plain);
}

TEST_F(ImportedJob, RecipesOf2026CaptureWholeStepsOfFusedExperts) {
  const std::string text =
      "--num-layers 2 --hidden-size 1024 --num-attention-heads 8 --padded-vocab-size 1024 --seq-length 4096 "
      "--max-position-embeddings 4096 --global-batch-size 32 --micro-batch-size 1 --bf16 --num-experts 8 "
      "--moe-grouped-gemm --moe-token-dispatcher-type flex --moe-flex-dispatcher-backend hybridep "
      "--use-transformer-engine-op-fuser --moe-mlp-glu-interleave-size 32 --moe-ffn-hidden-size 1024 "
      "--cuda-graph-impl local --cuda-graph-scope full_iteration "
      "--moe-paged-stash --moe-expert-rank-capacity-factor 1.2 --use-flash-attn --swiglu --disable-bias-linear";
  const std::string out = read("megatron", "a.sh", text + " --fp8-format e4m3 --fp8-recipe mxfp8",
                               "{cluster: {node: gb200-nvl72, nodes: 2}}");
  EXPECT_TRUE(has(out, "strategy.moe_dispatcher=deepep\n")) << out;
  EXPECT_TRUE(has(out, "strategy.fused_kernels.experts=true\n")) << out;
  EXPECT_TRUE(has(out, "strategy.cuda_graphs=true\n")) << out;
  EXPECT_FALSE(has(out, "strategy.attention_kernel=")) << out;  // Transformer Engine chooses
  EXPECT_TRUE(has(out, "moe-expert-rank-capacity-factor 1.2: room for tokens")) << out;
  const std::string in_bf16 = read("megatron", "a.sh", text, kCluster);
  EXPECT_FALSE(has(in_bf16, "strategy.fused_kernels.experts=true")) << in_bf16;
  EXPECT_TRUE(has(in_bf16, "# use-transformer-engine-op-fuser true: what it fuses")) << in_bf16;
}

TEST_F(ImportedJob, WeightsInFp8AloneAreAFlagAndItsAbsenceAKey) {
  const std::string text = std::string(kGpt) +
                           "--padded-vocab-size 128256 --max-position-embeddings 8192 --fp8-format hybrid --fp8-recipe "
                           "tensorwise --use-distributed-optimizer ";
  EXPECT_TRUE(has(read("megatron", "a.sh", text, kCluster), "training.fp8_parameters=false\n"));
  EXPECT_FALSE(has(read("megatron", "a.sh", text + "--fp8-param-gather", kCluster), "training.fp8_parameters=false"));
  EXPECT_FALSE(has(read("megatron", "a.sh", text + "--fp8-param-gather", kCluster), "error"));
}

TEST_F(ImportedJob, AProcessIsAGpu) {
  const std::string text = kLlama;
  const std::string out =
      read("megatron", "a.sh", "torchrun --nproc-per-node 4 --nnodes 2 x.py " + text, "{cluster: {node: dgx-h100}}");
  EXPECT_TRUE(has(out, "cluster.node.base=dgx-h100\ncluster.node.gpus=4\n") && has(out, "cluster.nodes=2\n")) << out;
  EXPECT_TRUE(has(out, "# 4 of the 8 GPUs of a node are used")) << out;
  EXPECT_TRUE(has(read("megatron", "a.sh", "torchrun --nproc-per-node 8 x.py " + text, "{cluster: {node: dgx-h100}}"),
                  "cluster.node=dgx-h100\n"));
  EXPECT_TRUE(has(read("megatron", "a.sh", "torchrun --nproc-per-node 16 x.py " + text, "{cluster: {node: dgx-h100}}"),
                  "cluster.node: has 8 GPUs, and each node is to run 16 processes"));
}

TEST_F(ImportedJob, KeysOfTheModelThatAreGivenStandBesideItsName) {
  // Scripts leave the vocabulary to the tokenizer.
  const std::string text = std::string(kGpt) + "--max-position-embeddings 8192";
  EXPECT_TRUE(has(read("megatron", "a.sh", text, "{model: {vocab: 128256}, cluster: {node: dgx-h100, nodes: 2}}"),
                  "model.base=llama3-8b\nmodel.vocab=128256\n"));
}

TEST_F(ImportedJob, ExpertsWithoutGraphsStaySoOnASlowHost) {
  const std::string text =
      std::string(kGpt) +
      "--padded-vocab-size 128256 --max-position-embeddings 8192 --num-experts 8 "
      "--moe-ffn-hidden-size 1024 --moe-token-dispatcher-type alltoall --use-distributed-optimizer";
  EXPECT_TRUE(
      has(read("megatron", "a.sh", text, "{cluster: {node: gb200-nvl72, nodes: 2}}"), "strategy.cuda_graphs=false\n"));
}

TEST_F(ImportedJob, GraphsBesideExpertsAreSaidSoUnlessASlowHostHasThemUnasked) {
  const std::string text =
      std::string(kGpt) +
      "--padded-vocab-size 128256 --max-position-embeddings 8192 --num-experts 8 "
      "--moe-ffn-hidden-size 1024 --moe-token-dispatcher-type alltoall --use-distributed-optimizer "
      "--cuda-graph-impl transformer_engine --cuda-graph-scope attn moe_router moe_preprocess";
  const std::string job = read("megatron", "a.sh", text, "{cluster: {node: gb200-nvl72, nodes: 2}}");
  EXPECT_FALSE(has(job, "cuda_graphs")) << job;
  const std::string x86 = read("megatron", "a.sh", text, "{cluster: {node: dgx-b200, nodes: 1}}");
  EXPECT_TRUE(has(x86, "strategy.cuda_graphs=beside_experts\n")) << x86;
}

TEST_F(ImportedJob, EveryOptionThatIsNotUnderstoodIsTold) {
  const std::string text = std::string(kGpt) +
                           "\\\n  --padded-vocab-size 128256 --max-position-embeddings 8192 --openai-gelu \\\n  "
                           "--my-trick 3 --seq-lenght 4";
  EXPECT_EQ(read("megatron", "a.sh", text, kCluster),
            "a.sh:2:61: error: openai-gelu: cannot be taken in: an unfused GELU\n"
            "  mend: leave it out, or add --ignore openai-gelu to predict a run without it\n"
            "a.sh:3:3: error: my-trick: is not known\n"
            "  mend: add --ignore my-trick if it has no effect on time and memory\n"
            "a.sh:3:16: error: seq-lenght: is not known\n"
            "  mend: did you mean seq-length? add --ignore seq-lenght if it has no effect on time and memory");
  EXPECT_TRUE(
      has(read("megatron", "a.sh", text, kCluster, {"openai-gelu", "my-trick", "seq-lenght"}), "model=llama3-8b"));
}

TEST_F(ImportedJob, WhatTheUserIgnoresIsToldApartFromWhatHasNoEffect) {
  const std::string out = read("megatron", "a.sh",
                               std::string(kGpt) +
                                   "--padded-vocab-size 128256 --max-position-embeddings 8192 --lr 1e-4 --my-trick 3 "
                                   "--openai-gelu",
                               kCluster, {"all"});
  EXPECT_TRUE(has(out,
                  "# options without effect on time and memory: 1\n"
                  "# ignored because --ignore says so: my-trick, openai-gelu\n"))
      << out;
}

TEST_F(ImportedJob, VariablesOfALaunchAreNoneOfMegatronsOptions) {
  // What stands in front of ")" is a pattern, A=B an argument of srun and env.
  const std::string out =
      read("megatron", "run.sh",
           "case $1 in\n --tensor-model-parallel-size) TP=$2; shift 2 ;;\nesac\n"
           "if [ -f x ]; then TP=4; else TP=2; fi\n"
           "srun --export=ALL,A=B env X=1 torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 4 "
           "--hidden-size 256 --num-attention-heads 4 --seq-length 128 --max-position-embeddings 128 "
           "--tensor-model-parallel-size $TP --micro-batch-size 1 --global-batch-size 8 "
           "--vocab-size 1024 --make-vocab-size-divisible-by 1 --bf16\n",
           "{cluster: {node: dgx-h100}}");
  EXPECT_TRUE(has(out, "strategy.tp=2\n")) << out;
  EXPECT_TRUE(has(out, "# tensor-model-parallel-size 2: under a condition of the script, taken as if it held\n"))
      << out;
}

TEST_F(ImportedJob, TwoLaunchesAreTwoJobs) {
  const std::string twice = "python a.py --bf16\nif x; then\n  python a.py --bf16\nelse\n  python a.py --fp16\nfi";
  EXPECT_EQ(read("megatron", "a.sh", twice, kCluster),
            "a.sh:5:10: error: a.py: is started beside a.py of line 1, with other arguments\n"
            "  mend: leave one of them in the file");
  EXPECT_FALSE(has(read("megatron", "a.sh", twice.substr(0, twice.find("else")), kCluster), "started"));
  // What is shown before it is run is no other launch.
  const std::string shown = "C=\"python a.py --bf16\"\necho $C > a.txt\neval $C 2>&1 | tee log";
  EXPECT_FALSE(has(read("megatron", "a.sh", shown, kCluster), "started"));
}

TEST_F(ImportedJob, WhatPreparesDataBesideATrainingIsPutAside) {
  const std::string out = read("megatron", "a.sh",
                               "python tools/preprocess_data.py --input x --workers 8\necho --made-up\n"
                               "wget --header=x y\ntorchrun pretrain_gpt.py " +
                                   kLlama,
                               kCluster);
  EXPECT_TRUE(has(out, "model=llama3-8b\n")) << out;
  EXPECT_TRUE(has(out, "# tools/preprocess_data.py: another program, not read\n")) << out;
}

TEST_F(ImportedJob, OptionsThatABranchReplacesAreTold) {
  const std::string out =
      read("megatron", "a.sh",
           "R=\"--tensor-model-parallel-size 2\"\nif [ $X = 1 ]; then\n  R=--sequence-parallel\nfi\n"
           "torchrun pretrain_gpt.py $R " +
               kLlama,
           kCluster);
  EXPECT_TRUE(has(out, "# options of R of line 3 (in place of line 1's): under a condition of the script")) << out;
}

TEST_F(ImportedJob, WhatMayHoldOptionsIsNotPassedOver) {
  const auto launch = [&](const std::string& before, const std::string& words,
                          const std::map<std::string, std::string>& variables = {}) {
    return read("megatron", "a.sh", before + "torchrun pretrain_gpt.py " + words + " " + kLlama, kCluster, {},
                variables);
  };
  const std::string plain = launch("source ./cluster.env\n", "$MORE");
  EXPECT_TRUE(has(plain, "options: '$MORE' is a variable that the text does not set")) << plain;
  EXPECT_TRUE(has(plain, "or add --variable MORE=VALUE")) << plain;
  EXPECT_TRUE(has(launch("source ./cluster.env\n", ""), "# ./cluster.env: another file, not read"));
  EXPECT_TRUE(has(launch("", "${MORE[@]}", {{"MORE", "--sequence-parallel"}}), "strategy.sp=true\n"));
  for (const char* computed : {"$(cat more.txt)", "${MORE[2]}"}) {
    const std::string out = launch("", computed);
    EXPECT_TRUE(has(out, "' is not computed here") && !has(out, "--variable")) << out;
  }
  EXPECT_TRUE(has(launch("MORE=(--sequence-parallel)\n", "${MORE[@]} \"$@\""), "strategy.sp=true\n"));
  EXPECT_TRUE(has(launch("declare -a MORE\n", "${MORE[@]} $* --sequence-parallel"), "strategy.sp=true\n"));
  // Behind a value, too, but where an option takes many.
  EXPECT_TRUE(has(launch("", "--save $DIR $MORE"), "options: '$MORE' is a variable that the text does not set"));
  EXPECT_TRUE(has(launch("", "\"${MORE[@]}\"", {{"MORE", "--tensor-model-parallel-size 2"}}), "strategy.tp=2\n"));
  EXPECT_TRUE(has(launch("", "--save x $DIR/y --sequence-parallel"), "strategy.sp=true\n"));  // no options
  EXPECT_TRUE(has(launch("", "--data-path 0.5 $A 0.5 $B --sequence-parallel"), "strategy.sp=true\n"));
  // Neither the program's own path nor what other programs are given.
  const std::string others = "python prepare.py $DATA\nif [ -f $DIR/a.py ]; then cp $DIR/a.py $DIR/b; fi\n";
  EXPECT_TRUE(
      has(read("megatron", "a.sh", others + "torchrun ${ROOT}/pretrain_gpt.py --sequence-parallel " + kLlama, kCluster),
          "strategy.sp=true\n"));
}

TEST_F(ImportedJob, NodesAreThoseThatSlurmIsAskedFor) {
  const auto nodes = [&](const std::string& before, const std::string& launcher) {
    return read("megatron", "a.sh", before + launcher + " pretrain_gpt.py " + kLlama, "{cluster: {node: dgx-h100}}");
  };
  EXPECT_TRUE(has(nodes("", "srun --nodes=4 python"), "cluster.nodes=4\n"));
  EXPECT_TRUE(has(nodes("", "srun -N 4 python"), "cluster.nodes=4\n"));
  EXPECT_TRUE(has(nodes("#SBATCH --nodes=4\n", "srun python"), "cluster.nodes=4\n"));
  EXPECT_TRUE(has(nodes("#SBATCH --nodes=4\n", "torchrun --nnodes $SLURM_NNODES"), "cluster.nodes=4\n"));
  EXPECT_FALSE(has(nodes("srun --nodes=4 hostname\n", "torchrun"), "cluster.nodes"));  // of another command
  EXPECT_TRUE(has(nodes("#SBATCH --nodes=4\nsrun --nodes=1 python check.py\n", "srun python"), "cluster.nodes=4\n"));
}

TEST_F(ImportedJob, WhatIsGivenGoesBeforeTheFileWhereAKeyFollowsFromIt) {
  const auto with = [&](const std::string& options, const std::string& given) {
    return read("megatron", "a.sh", kLlama + options, "{cluster: {node: dgx-h100, nodes: 2}" + given + "}");
  };
  // 16 GPUs over tp 2 are 8 replicas in two groups of four, over tp 4 two of two.
  const std::string groups =
      "--tensor-model-parallel-size 2 --use-distributed-optimizer --num-distributed-optimizer-instances 2";
  EXPECT_TRUE(has(with(groups, ""), "strategy.shard=4\n"));
  EXPECT_TRUE(has(with(groups, ", strategy: {tp: 4}"), "strategy.shard=2\n"));
  // 32 layers of 4 stages, 4 each: two chunks; of 2 stages four.
  const std::string chunks = "--pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 4";
  EXPECT_TRUE(has(with(chunks, ""), "strategy.vpp=2\n"));
  EXPECT_TRUE(has(with(chunks, ", strategy: {pp: 2}"), "strategy.vpp=4\n"));
}

TEST_F(ImportedJob, RotaryEmbeddingMayBeAskedForTwice) {
  const std::string out =
      read("megatron", "a.sh", kLlama + "--use-rotary-position-embeddings --position-embedding-type rope", kCluster);
  EXPECT_TRUE(has(out, "model=llama3-8b\n")) << out;
}

TEST_F(ImportedJob, LaunchesThatBlockAreAKey) {
  const auto imported = [&](const std::string& before) {
    return read("megatron", "a.sh", before + "torchrun pretrain_gpt.py " + kLlama, kCluster);
  };
  const std::string key = "strategy.launch_blocking=true\n";
  EXPECT_TRUE(has(imported("export CUDA_LAUNCH_BLOCKING=1\n"), key));
  EXPECT_TRUE(has(imported("CUDA_LAUNCH_BLOCKING=1 "), key));
  EXPECT_FALSE(has(imported("export CUDA_LAUNCH_BLOCKING=0\n"), key));
  EXPECT_FALSE(has(imported("export CUDA_LAUNCH_BLOCKING=1\npython prepare.py\nunset CUDA_LAUNCH_BLOCKING\n"), key));
  EXPECT_FALSE(has(imported("CUDA_LAUNCH_BLOCKING=1 python prepare.py\n"), key));  // that program's alone
  EXPECT_FALSE(has(imported(""), key));
  const auto beside = [&](const std::string& options) {
    return read("megatron", "a.sh", "export CUDA_LAUNCH_BLOCKING=1\ntorchrun pretrain_gpt.py " + kLlama + options,
                kCluster);
  };
  EXPECT_TRUE(has(beside("--cuda-graph-impl none"), key));  // as if it was not given
  const std::string graphs = beside("--cuda-graph-impl local");
  EXPECT_FALSE(has(graphs, key)) << graphs;
  EXPECT_TRUE(has(graphs, "# CUDA_LAUNCH_BLOCKING: left out")) << graphs;
  const std::string maybe = imported("[ $DEBUG = 1 ] && export CUDA_LAUNCH_BLOCKING=1\n");
  EXPECT_TRUE(has(maybe, key) && has(maybe, "# CUDA_LAUNCH_BLOCKING: under a condition of the script")) << maybe;
}

TEST_F(ImportedJob, AVariableInAChoiceIsTheOnlyFaultOfIt) {
  const std::string out =
      read("megatron", "a.sh",
           std::string(kGpt) + "--padded-vocab-size 128256 --use-distributed-optimizer --optimizer $UNSET", kCluster);
  EXPECT_TRUE(has(out, "optimizer: '$UNSET' is a variable that the text does not set")) << out;
  EXPECT_FALSE(has(out, "is not known")) << out;
}

TEST_F(ImportedJob, OptionsOfExpertsBesideADenseModelAreToldAsThat) {
  EXPECT_EQ(
      read("megatron", "a.sh",
           std::string(kGpt) + "--padded-vocab-size 128256 --max-position-embeddings 8192 \\\n --moe-router-topk 2 "
                               "--moe-token-dispatcher-type alltoall",
           kCluster),
      "a.sh:2:2: error: moe-router-topk: is without effect where num-experts is not given\n"
      "  mend: add num-experts, or leave it out\n"
      "a.sh:2:22: error: moe-token-dispatcher-type: is without effect where num-experts is not given\n"
      "  mend: add num-experts, or leave it out");
}

TEST_F(ImportedJob, AFileWithoutAnOptionOfTheFrameworkIsAnothersFile) {
  const std::string deepspeed = R"({"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 3}})";
  const std::string given = "{model: llama3-8b, cluster: {node: dgx-h100}, training: {sequence: 4096}}";
  EXPECT_EQ(read("accelerate-fsdp", "a.json", deepspeed, given, {"all"}),
            "a.json: error: FILE: has no option of Accelerate's FSDP\n"
            "  mend: some are known to forerun import deepspeed: name another file, or another format");
  EXPECT_EQ(read("megatron", "a.sh", "echo --frobnicate", given, {"all"}),
            "a.sh: error: FILE: has no option of Megatron-LM\n  mend: name another file, or another format");
  EXPECT_TRUE(has(read("deepspeed", "a.json", R"({"model_type": "llama", "hidden_size": 4096})", given, {"all"}),
                  "some are known to forerun import huggingface, megatron: "));
}

TEST_F(ImportedJob, BytesThatAreNoTextAreNoScript) {
  EXPECT_EQ(read("megatron", "a.sh", std::string("--tp 2\n--\x01\x02\0 7", 14), kCluster),
            "a.sh:2:1: error: FILE: holds bytes that are no text\n"
            "  mend: name a shell script, or arguments saved as YAML");
}

TEST_F(ImportedJob, AVariableThatNothingSetsIsNoNumber) {
  EXPECT_TRUE(has(read("megatron", "a.sh", std::string(kGpt) + "--tensor-model-parallel-size $TP", kCluster),
                  "tensor-model-parallel-size: '$TP' is a variable that the text does not set"));
  EXPECT_EQ(read("megatron", "a.sh", std::string(kGpt) + "--padded-vocab-size $((2 ** 17))", kCluster),
            "a.sh:1:386: error: padded-vocab-size: '$((2**17))' is not computed here\n"
            "  mend: write its value in its place");
}

TEST_F(ImportedJob, OptionsThatAJobCannotSayTogetherAreTold) {
  EXPECT_TRUE(
      has(read("megatron", "a.sh",
               std::string(kGpt) + "--recompute-granularity full --recompute-method uniform --recompute-num-layers 4",
               kCluster),
          "recompute-granularity full with recompute-method uniform with recompute-num-layers 4 is nothing that a Job "
          "can say"));
}

}  // namespace
