// tests/core/config/messages_test.cpp -- what users are told, word for word.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/core/config/small_catalogue.h"

namespace config::testing {
namespace {

class Messages : public ::testing::Test {
 protected:
  SmallCatalogue small_;

  /// A sound Job with these sections; each starts on the line its name tells.
  static std::string job(const std::string& strategy, const std::string& training = "sequence: 1024, global_batch: 64",
                         const std::string& cluster = "node: box-8, nodes: 2", const std::string& model = "small") {
    return "model: " + model + "\ncluster: {" + cluster + "}\ntraining: {" + training + "}\nstrategy: {" + strategy +
           "}\n";
  }
};

TEST_F(Messages, ASoundJobHasNone) { EXPECT_EQ(small_.message(job("tp: 2")), "no fault"); }

TEST_F(Messages, AnUnknownKeyOffersTheNearest) {
  EXPECT_EQ(small_.message(job("", "sequense: 1024, sequence: 1024, global_batch: 64")),
            "job.yaml:3:12: error: training.sequense: unknown key\n"
            "  mend: did you mean sequence?");
}

TEST_F(Messages, AnUnknownKeyNearToNoneListsThemAll) {
  EXPECT_EQ(small_.message(job("overlap: {everything: true}")),
            "job.yaml:4:22: error: strategy.overlap.everything: unknown key\n"
            "  mend: known keys: expert, grad_reduce, p2p, param_gather, shared_expert, tp");
}

TEST_F(Messages, ABandwidthNeedsItsUnit) {
  EXPECT_EQ(small_.message(
                job("", "sequence: 1024, global_batch: 64", "node: {base: box-8, nic: {bandwidth: 400}}, nodes: 2")),
            "job.yaml:2:48: error: cluster.node.nic.bandwidth: '400' has no unit\n"
            "  mend: write 400GB/s (bytes) or 400Gb/s (bits)");
}

TEST_F(Messages, MemoryIsNotCountedInBits) {
  EXPECT_EQ(small_.message(job("", "sequence: 1024, global_batch: 64", "node: {base: box-8, gpu: {memory: 96Gb}}")),
            "job.yaml:2:45: error: cluster.node.gpu.memory: '96Gb' is in bits\n"
            "  mend: memory is counted in bytes: write 96GB");
}

TEST_F(Messages, DegreesMustDivideTheGpus) {
  EXPECT_EQ(small_.message(job("tp: 3")),
            "job.yaml:4:16: error: strategy.tp: tp 3 x cp 1 x pp 1 = 3 does not divide the cluster's 16 GPUs\n"
            "  mend: choose degrees whose product divides 16, or change cluster.nodes\n"
            "job.yaml:4:16: error: strategy.tp: 16 heads do not divide by tp 3\n"
            "  mend: choose a tp that divides 16\n"
            "job.yaml:4:16: error: strategy.tp: 4096 columns of the feed-forward do not divide by tp 3\n"
            "  mend: choose a tp that divides 4096");
}

TEST_F(Messages, AGivenDpMustFillTheCluster) {
  EXPECT_EQ(small_.message(job("tp: 2, pp: 2, dp: 8")),
            "job.yaml:4:30: error: strategy.dp: tp 2 x cp 1 x pp 2 x dp 8 = 32 ranks, but the cluster has 16 GPUs\n"
            "  mend: write dp: 4, or leave dp out");
}

TEST_F(Messages, TheBatchMustDivide) {
  EXPECT_EQ(small_.message(job("", "sequence: 1024, global_batch: 100, micro_batch: 2")),
            "job.yaml:3:42: error: training.global_batch: 100 sequences do not divide by micro_batch 2 x dp 16 = 32\n"
            "  mend: write 96 or 128, or another micro_batch");
}

TEST_F(Messages, LayersMustDivideIntoChunks) {
  EXPECT_EQ(small_.message(job("pp: 4, vpp: 5, schedule: interleaved")),
            "job.yaml:4:16: error: strategy.pp: 24 layers do not divide into pp 4 x vpp 5 = 20 chunks\n"
            "  mend: choose degrees that divide them, or write stage_layers");
}

TEST_F(Messages, EmbeddingInSplitIsOfferedWhereItHelps) {
  // 22 + 2 layers divide into 8 stages of 3; without, two of the 8 have 2, which are those with embedding and head.
  EXPECT_EQ(
      small_.message(job("pp: 8", "sequence: 1024, global_batch: 64", "node: box-8", "{base: small, layers: 22}")),
      "job.yaml:4:16: error: strategy.pp: 22 layers do not divide into pp 8\n"
      "  mend: choose degrees that divide them, or write stage_layers: [2, 3, 3, 3, 3, 3, 3, 2], or "
      "embedding_in_split: true");
}

TEST_F(Messages, StageLayersMustAddUp) {
  EXPECT_EQ(small_.message(job("pp: 4, stage_layers: [5, 6, 6, 6]")),
            "job.yaml:4:33: error: strategy.stage_layers: the entries add up to 23, but the model has 24 layers\n"
            "  mend: let them add up to 24");
}

TEST_F(Messages, AnInterleavedScheduleNeedsFullRounds) {
  // 64 sequences over dp 4 are 16 microbatches, over pp 4 four rounds; 72 are 18, which 4 does not divide.
  EXPECT_EQ(small_.message(job("pp: 4, vpp: 2, schedule: interleaved", "sequence: 1024, global_batch: 72")),
            "job.yaml:3:42: error: training.global_batch: 18 microbatches do not divide by pp 4, as the interleaved "
            "schedule needs\n"
            "  mend: write a multiple of micro_batch x dp x pp = 16, or schedule: 1f1b");
}

TEST_F(Messages, ChunksNeedTheInterleavedSchedule) {
  EXPECT_EQ(small_.message(job("pp: 4, vpp: 2")),
            "job.yaml:4:24: error: strategy.vpp: 2 chunks a stage need the interleaved schedule\n"
            "  mend: write schedule: interleaved, or vpp: 1");
}

TEST_F(Messages, ATextIsNotANumber) {
  EXPECT_EQ(small_.message(job("tp: two, pp: \"2\", sp: yes, stage_layers: 4")),
            "job.yaml:4:16: error: strategy.tp: 'two' is not a whole number\n"
            "  mend: write a whole number from 1 to 1000000\n"
            "job.yaml:4:25: error: strategy.pp: '2' is in quotes, so it is text\n"
            "  mend: write a whole number from 1 to 1000000\n"
            "job.yaml:4:34: error: strategy.sp: 'yes' is neither true nor false\n"
            "  mend: write true or false, without quotes\n"
            "job.yaml:4:53: error: strategy.stage_layers: '4' is not a list\n"
            "  mend: write whole numbers in brackets, such as [1, 2]");
}

TEST_F(Messages, AListIsNotAMap) {
  EXPECT_EQ(small_.message("model: small\ncluster: [box-8]\ntraining: {sequence: 1, global_batch: 1}\n"),
            "job.yaml:2:10: error: cluster: a list is not a map\n"
            "  mend: write cluster: {node: dgx-h100, nodes: 8}, for example");
}

TEST_F(Messages, NodesOfAListAreMaps) {
  EXPECT_EQ(small_.message(job("", "sequence: 1024, global_batch: 64", "node: [box-8], fabric: flat")),
            "job.yaml:2:18: error: cluster.node[0]: 'box-8' is not a map\n"
            "  mend: write {node: box-8, nodes: 4} for each kind of node");
}

TEST_F(Messages, ALinkIsMoreThanItsBandwidth) {
  EXPECT_EQ(small_.message(job("", "sequence: 1024, global_batch: 64", "node: {base: box-8, nvlink: 900GB/s}")),
            "job.yaml:2:39: error: cluster.node.nvlink: '900GB/s' is not a map\n"
            "  mend: write nvlink: {bandwidth: 450GB/s}, of one GPU in one direction; without a base {switch: "
            "nvswitch, bandwidth: 450GB/s, domain: 8}");
}

TEST_F(Messages, AnUnknownNameOffersTheNearest) {
  EXPECT_EQ(
      small_.message(job("schedule: interleavd, attention_kernel: flash9")),
      "job.yaml:4:22: error: strategy.schedule: 'interleavd' is not known\n"
      "  mend: did you mean interleaved? known: gpipe, 1f1b, interleaved, zb-h1, zb-h2, zb-v, dualpipe, pipedream\n"
      "job.yaml:4:52: error: strategy.attention_kernel: 'flash9' is not known\n"
      "  mend: did you mean flash1? known: unfused, fused_softmax, flash1, flash2, flash3, cudnn, sparse, "
      "mem_efficient");
}

TEST_F(Messages, AnUnknownCatalogueNameOffersTheNearest) {
  EXPECT_EQ(small_.message(job("", "sequence: 1024, global_batch: 64", "node: box-9, fabric: wavy", "smell")),
            "job.yaml:1:8: error: model: there is no model 'smell'\n"
            "  mend: did you mean small? known: hf, small\n"
            "job.yaml:2:17: error: cluster.node: there is no node 'box-9'\n"
            "  mend: did you mean box-8? known: box-8, rack-72\n"
            "job.yaml:2:32: error: cluster.fabric: there is no fabric 'wavy'\n"
            "  mend: write a known name or a path; known: flat, slow");
}

TEST_F(Messages, AFolderIsNoName) {
  small_.add("workloads/models/beside/config.json", "{}");
  small_.add("workloads/models/nested.yaml", "base: beside\n");
  EXPECT_EQ(small_.message(job("", "sequence: 1024, global_batch: 64", "node: box-8", "nested")),
            "workloads/models/nested.yaml:1:7: error: model: there is no model 'beside'\n"
            "  mend: beside is a folder: write beside/config.json");
}

TEST_F(Messages, AModelFileMustExist) {
  EXPECT_EQ(small_.message(job("", "sequence: 1024, global_batch: 64", "node: box-8", "no/such/config.json")),
            "job.yaml:1:8: error: model: there is no file 'no/such/config.json'\n"
            "  mend: write the path from here or from the file that names it, or a catalogue name");
}

TEST_F(Messages, ABaseMustNotComeBackToItself) {
  small_.add("topologies/nodes/left.yaml", "base: right\n");
  small_.add("topologies/nodes/right.yaml", "gpus: 4\nbase: left\n");
  EXPECT_EQ(small_.message(job("", "sequence: 1024, global_batch: 64", "node: left")),
            "topologies/nodes/right.yaml:2:7: error: cluster.node.base: 'left' is its own base, by way of "
            "topologies/nodes/right.yaml\n"
            "  mend: let one of them stand on its own, without base:");
}

TEST_F(Messages, AKeyOfOursIsNoKeyOfAHuggingFaceConfig) {
  EXPECT_EQ(small_.message(job("", "sequence: 1024, global_batch: 64", "node: box-8", "{base: hf, layers: 4}")),
            "job.yaml:1:19: error: model.layers: is not a key of this Hugging Face config\n"
            "  mend: use the file's own names, such as num_hidden_layers");
}

TEST_F(Messages, WhatIsNotSupportedIsRefusedByName) {
  EXPECT_EQ(
      small_.message(job("zero: 3, pp: 2, schedule: pipedream")),
      "job.yaml:4:38: error: strategy.schedule: a pipeline without a flush under zero 2 and 3, whose shards are of one "
      "version of the weights, is not supported by this version\n"
      "  mend: write another schedule, or zero: 1");
}

TEST_F(Messages, AMixedClusterNamesTheFabricThatJoinsItAndCountsItsOwnNodes) {
  EXPECT_EQ(small_.message("model: small\ncluster:\n  nodes: 4\n  node:\n    - {node: box-8, nodes: 1}\n"
                           "    - {node: rack-72, nodes: 2, gpus: 4}\n"
                           "training: {sequence: 1024, global_batch: 64}\n"),
            "job.yaml:3:3: error: cluster.fabric: is missing, and each kind of node has its own\n"
            "  mend: add `fabric:` with a name or a map; `forerun list fabrics` shows the names\n"
            "job.yaml:3:10: error: cluster.nodes: is counted by the groups of a mixed cluster\n"
            "  mend: write nodes: inside each group of cluster.node\n"
            "job.yaml:6:33: error: cluster.node[1].gpus: unknown key\n"
            "  mend: known keys: node, nodes");
}

TEST_F(Messages, AbsurdValuesAreFaults) {
  EXPECT_EQ(
      small_.message(job("tp: 0, pp: 99999999999999999999", "sequence: 200000000, global_batch: -4, dropout: 1.5")),
      "job.yaml:3:22: error: training.sequence: 200000000 is out of range\n"
      "  mend: write a whole number from 1 to 100000000\n"
      "job.yaml:3:47: error: training.global_batch: -4 is out of range\n"
      "  mend: write a whole number from 1 to 10000000\n"
      "job.yaml:3:60: error: training.dropout: 1.5 is out of range\n"
      "  mend: write a number from 0 to 1\n"
      "job.yaml:4:16: error: strategy.tp: 0 is out of range\n"
      "  mend: write a whole number from 1 to 1000000\n"
      "job.yaml:4:23: error: strategy.pp: 99999999999999999999 is out of range\n"
      "  mend: write a whole number from 1 to 1000000");
}

TEST_F(Messages, FaultsComeInFileOrder) {
  // The strategy is read before the network, and stands behind it in this file.
  EXPECT_EQ(small_.message("network: {algorithm: rung}\nstrategy: {zero: 7}\nmodel: small\ncluster: {node: box-8}\n"
                           "training: {sequence: 1024, global_batch: 64}\n"),
            "job.yaml:1:22: error: network.algorithm: 'rung' is not known\n"
            "  mend: did you mean ring? known: auto, ring, tree, nvls, nvls_tree, collnet, pat, direct, hierarchical\n"
            "job.yaml:2:18: error: strategy.zero: 7 is out of range\n"
            "  mend: write a whole number from 0 to 3");
}

TEST_F(Messages, MissingSectionsAreNamed) {
  EXPECT_EQ(small_.message("cluster: {nodes: 2}\n"),
            "job.yaml:1:1: error: model: is missing\n"
            "  mend: add `model:` with a name, a path or a map; `forerun list models` shows the names\n"
            "job.yaml:1:1: error: training.sequence: is missing\n"
            "  mend: add `sequence:` to training\n"
            "job.yaml:1:1: error: training.global_batch: is missing\n"
            "  mend: add `global_batch:` to training\n"
            "job.yaml:1:10: error: cluster.node: is missing\n"
            "  mend: add `node:` with a name, a path or a map; `forerun list nodes` shows the names");
}

TEST_F(Messages, APrecisionMustBeOneOfTheGpu) {
  EXPECT_EQ(small_.message(job("", "sequence: 1024, global_batch: 64, precision: tf32")),
            "job.yaml:3:57: error: training.precision: chip does not compute in tf32\n"
            "  mend: choose one of fp32, fp16, bf16");
}

TEST_F(Messages, AnAttentionKernelMustRunOnTheGpu) {
  EXPECT_EQ(small_.message(job("attention_kernel: flash2", "sequence: 1024, global_batch: 64, precision: fp32")),
            "job.yaml:4:30: error: strategy.attention_kernel: flash2 does not run on chip in fp32 with head_dim 64\n"
            "  mend: write unfused, or leave attention_kernel out");
}

TEST_F(Messages, AFlagIsItsOwnPlace) {
  Value tree = parse(job("tp: 2"), "job.yaml");
  set_path(tree, "strategy.tp", "32", "--set strategy.tp=32");
  try {
    read_job(tree, small_.catalogue());
    FAIL() << "tp 32 must not pass on 16 GPUs";
  } catch (const base::InputError& error) {
    EXPECT_EQ(
        base::to_string(error.faults.front()),
        "--set strategy.tp=32: error: strategy.tp: tp 32 x cp 1 x pp 1 = 32 does not divide the cluster's 16 GPUs\n"
        "  mend: choose degrees whose product divides 16, or change cluster.nodes");
  }
}

}  // namespace
}  // namespace config::testing
