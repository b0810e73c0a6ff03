// tests/core/config/messages_strategy_test.cpp -- what users are told of options of a strategy that need another, or
// that this job cannot have, word for word. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "tests/core/config/messages.h"

namespace config::testing {
namespace {

using StrategyMessages = MessageTest;

TEST_F(StrategyMessages, InterleavedNeedsStages) {
  EXPECT_EQ(of_strategy("schedule: interleaved, vpp: 2"),
            "job.yaml:4:22: error: strategy.schedule: an interleaved schedule needs more than one stage\n"
            "  mend: write schedule: 1f1b and vpp: 1, or pp: 2 or more");
}

TEST_F(StrategyMessages, InterleavedNeedsChunks) {
  EXPECT_EQ(of_strategy("schedule: interleaved, pp: 2"),
            "job.yaml:4:22: error: strategy.schedule: an interleaved schedule needs more than one chunk a stage\n"
            "  mend: write vpp: 2 or more, or schedule: 1f1b");
}

TEST_F(StrategyMessages, SequenceParallelNeedsASequenceThatDivides) {
  EXPECT_EQ(of_job("sp: true, tp: 8", "sequence: 1001, global_batch: 64", "node: box-8, nodes: 2", "small"),
            "job.yaml:4:26: error: strategy.tp: 1001 tokens of a sequence (sp: true) do not divide by tp 8\n"
            "  mend: choose a tp that divides 1001");
}

TEST_F(StrategyMessages, ZeroHasFourStages) {
  EXPECT_EQ(of_strategy("zero: 4"),
            "job.yaml:4:18: error: strategy.zero: 4 is out of range\n"
            "  mend: write a whole number from 0 to 3");
}

TEST_F(StrategyMessages, FsdpNeedsZeroThree) {
  EXPECT_EQ(of_strategy("zero: 2, fsdp: {prefetch: 2}"),
            "job.yaml:4:27: error: strategy.fsdp: has no effect with zero 2\n"
            "  mend: write zero: 3, or sync_each_microbatch alone");
  EXPECT_EQ(of_strategy("zero: 1, fsdp: {sync_each_microbatch: false}"),
            "job.yaml:4:27: error: strategy.fsdp: has no effect with zero 1\n"
            "  mend: write zero: 3, or leave fsdp out");
}

TEST_F(StrategyMessages, AnUnknownUnitOfParameters) {
  EXPECT_EQ(of_strategy("zero: 3, fsdp: {unit: layer}"),
            "job.yaml:4:34: error: strategy.fsdp.unit: 'layer' is no unit of parameters\n"
            "  mend: write block, model, or a number of blocks");
}

TEST_F(StrategyMessages, ShardsNeedSomethingSharded) {
  EXPECT_EQ(of_strategy("shard: 8"),
            "job.yaml:4:19: error: strategy.shard: nothing is sharded with zero 0\n"
            "  mend: write zero: 1, 2 or 3, or leave shard out");
}

TEST_F(StrategyMessages, LayersOfARecomputeNeedKindFull) {
  EXPECT_EQ(of_strategy("recompute: {kind: selective, layers: 3}"),
            "job.yaml:4:49: error: strategy.recompute.layers: belongs to kind: full alone\n"
            "  mend: write kind: full, or leave layers out");
}

TEST_F(StrategyMessages, ModulesThatCannotBeComputedAgain) {
  EXPECT_EQ(of_strategy("recompute: {kind: selective, modules: [layernorm, ffn]}"),
            "job.yaml:4:62: error: strategy.recompute.modules: 'ffn' is no module that can be computed again\n"
            "  mend: choose among core_attn, layernorm, mla_up_proj, moe_act, mlp, moe and shared_experts");
  EXPECT_EQ(of_strategy("recompute: {kind: full, modules: [mlp]}"),
            "job.yaml:4:45: error: strategy.recompute.modules: belongs to kind: selective alone\n"
            "  mend: write kind: selective, or leave modules out");
  EXPECT_EQ(of_strategy("recompute: {kind: selective, modules: [mla_up_proj]}"),
            "job.yaml:4:50: error: strategy.recompute.modules: mla_up_proj: the model has no latent attention\n"
            "  mend: leave mla_up_proj out");
}

TEST_F(StrategyMessages, MoreRecomputedLayersThanThereAre) {
  EXPECT_EQ(of_strategy("recompute: {kind: full, layers: 99}"),
            "job.yaml:4:23: error: strategy.recompute: 99 layers of a stage, but the model has 24\n"
            "  mend: write a number from 1 to the layers of a stage, or leave layers out for all");
}

TEST_F(StrategyMessages, AnUnknownFrameworkOffersTheNearest) {
  EXPECT_EQ(of_strategy("framework: megatrom"),
            "job.yaml:4:23: error: strategy.framework: there is no framework 'megatrom'\n"
            "  mend: did you mean megatron? known: bare, megatron");
}

TEST_F(StrategyMessages, AFrameworkNearToNone) {
  EXPECT_EQ(of_strategy("framework: [megatron]"),
            "job.yaml:4:23: error: strategy.framework: a list is not a framework\n"
            "  mend: write a name, a path or a map");
}

TEST_F(StrategyMessages, AnAttentionKernelOfALaterGpu) {
  // FlashAttention 3 is written for Hopper alone.
  EXPECT_EQ(of_job("attention_kernel: flash3", kTraining, "node: {base: box-8, gpu: {generation: ampere}}", "small"),
            "job.yaml:4:30: error: strategy.attention_kernel: flash3 does not run on chip (changed) in bf16 with "
            "head_dim 64\n"
            "  mend: write flash2, or leave attention_kernel out");
}

TEST_F(StrategyMessages, AnEntryForEveryStage) {
  EXPECT_EQ(of_strategy("pp: 4, stage_layers: [8, 8, 8]"),
            "job.yaml:4:33: error: strategy.stage_layers: 3 entries for pp 4\n"
            "  mend: write 4 entries, one for each stage");
}

TEST_F(StrategyMessages, AnEntryThatIsNoNumber) {
  EXPECT_EQ(of_strategy("pp: 4, stage_layers: [6, x, 6, 6]"),
            "job.yaml:4:37: error: strategy.stage_layers[1]: 'x' is not a whole number\n"
            "  mend: write a whole number from 0 to 1000000");
}

TEST_F(StrategyMessages, AStageInTheMiddleHasALayer) {
  EXPECT_EQ(of_strategy("pp: 4, stage_layers: [12, 0, 6, 6]"),
            "job.yaml:4:33: error: strategy.stage_layers: a stage between the first and the last has no layer\n"
            "  mend: write one layer or more for each chunk; only the first and the last may hold none");
}

TEST_F(StrategyMessages, TwoWaysToSplitAreOneTooMany) {
  EXPECT_EQ(of_strategy("pp: 2, stage_layers: [12, 12], embedding_in_split: true"),
            "job.yaml:4:63: error: strategy.embedding_in_split: has no effect beside stage_layers\n"
            "  mend: leave one of the two out");
}

TEST_F(StrategyMessages, AnOverlapIsAMap) {
  EXPECT_EQ(of_strategy("overlap: false"),
            "job.yaml:4:21: error: strategy.overlap: 'false' is not a map\n"
            "  mend: write overlap: {grad_reduce: false, param_gather: false, p2p: false}, or some of them");
}

TEST_F(StrategyMessages, FsdpIsAMapAndIsZeroThree) {
  EXPECT_EQ(of_strategy("fsdp: true"),
            "job.yaml:4:18: error: strategy.fsdp: 'true' is not a map\n"
            "  mend: write zero: 3 for FSDP, or fsdp: {unit: block, prefetch: 1}");
}

TEST_F(StrategyMessages, OffloadSaysWhatIsOffloaded) {
  for (const std::string word : {"true", "cpu"}) {
    EXPECT_EQ(of_strategy("offload: " + word),
              "job.yaml:4:21: error: strategy.offload: '" + word +
                  "' is not a map\n"
                  "  mend: write offload: {optimizer: cpu, parameters: cpu, activations: cpu}, or some of them");
  }
}

TEST_F(StrategyMessages, AdaptersHaveARank) {
  EXPECT_EQ(of_strategy("lora: 16"),
            "job.yaml:4:18: error: strategy.lora: '16' is not a map\n"
            "  mend: write lora: {rank: 16, targets: [qkv, proj, ffn]}");
}

TEST_F(StrategyMessages, DefaultsMayBeWritten) {
  EXPECT_EQ(of_job("lora: none, offload: none, moe_capacity_factor: dropless, shard: 0",
                   "sequence: 1024, global_batch: 64, wide_layers: none", "node: box-8", "small"),
            "no fault");
}

TEST_F(StrategyMessages, FusedKernelsAreFlagsOrAMap) {
  EXPECT_EQ(of_strategy("fused_kernels: some"),
            "job.yaml:4:27: error: strategy.fused_kernels: neither true, false nor a map\n"
            "  mend: write true, false or a map such as {norm: true, rope: false}");
}

TEST_F(StrategyMessages, ATypoOffersTheWordThatBeginsAlike) {
  // pp is as near as tp.
  EXPECT_EQ(of_strategy("tpp: 2"),
            "job.yaml:4:12: error: strategy.tpp: unknown key\n"
            "  mend: did you mean tp?");
}

TEST_F(StrategyMessages, RoutingTellsTheImbalance) {
  const std::string told = of_strategy("moe_imbalance: 1.5, moe_routing: [1, 2]");
  EXPECT_NE(told.find("error: strategy.moe_imbalance: is told by moe_routing as well\n  mend: leave one of them out"),
            std::string::npos)
      << told;
}

TEST_F(StrategyMessages, WhatOtherToolsCallAKey) {
  const auto hint = [&](const std::string& name) {
    const std::string told = of_strategy(name + ": 2");
    return told.substr(std::min(told.find("mend: "), told.size()));
  };
  EXPECT_EQ(hint("tensor_parallel"), "mend: did you mean tp?");
  EXPECT_EQ(hint("tensor-model-parallel-size"), "mend: did you mean tp?");
  EXPECT_EQ(hint("TP"), "mend: did you mean tp?");
  EXPECT_EQ(hint("data_parallel"), "mend: did you mean dp?");
  EXPECT_EQ(hint("pipeline_parallelism"), "mend: did you mean pp?");
  EXPECT_EQ(hint("context_parallel_degree"), "mend: did you mean cp?");
  EXPECT_EQ(hint("expert_parallel"), "mend: did you mean ep?");
  EXPECT_EQ(hint("zero_stage"), "mend: did you mean zero?");
  EXPECT_EQ(hint("micro_batch_size"), "mend: did you mean training.micro_batch?");  // in another section
}

}  // namespace
}  // namespace config::testing
