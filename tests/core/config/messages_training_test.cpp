// tests/core/config/messages_training_test.cpp -- what users are told of sizes of the work, alone and together,
// word for word.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "tests/core/config/messages.h"

namespace config::testing {
namespace {

using TrainingMessages = MessageTest;

TEST_F(TrainingMessages, AKeyWithoutAValue) {
  EXPECT_EQ(of_training("sequence: , global_batch: 64"),
            "job.yaml:3:22: error: training.sequence: has no value\n"
            "  mend: write a value for it");
}

TEST_F(TrainingMessages, CountsAreWrittenOut) {
  EXPECT_EQ(of_training("sequence: 8k, global_batch: 6.4e1"),
            "job.yaml:3:22: error: training.sequence: '8k' is not a whole number\n"
            "  mend: write a whole number from 1 to 100000000\n"
            "job.yaml:3:40: error: training.global_batch: '6.4e1' is not a whole number\n"
            "  mend: write a whole number from 1 to 10000000");
}

TEST_F(TrainingMessages, ANumberBeyond64Bits) {
  EXPECT_EQ(of_training("sequence: 99999999999999999999, global_batch: 64"),
            "job.yaml:3:22: error: training.sequence: 99999999999999999999 is out of range\n"
            "  mend: write a whole number from 1 to 100000000");
}

TEST_F(TrainingMessages, AMapIsNoNumber) {
  EXPECT_EQ(of_training("sequence: [1024], global_batch: {of: 64}"),
            "job.yaml:3:22: error: training.sequence: a list is not a whole number\n"
            "  mend: write a whole number from 1 to 100000000\n"
            "job.yaml:3:44: error: training.global_batch: a map is not a whole number\n"
            "  mend: write a whole number from 1 to 10000000");
}

TEST_F(TrainingMessages, InfiniteDropout) {
  EXPECT_EQ(of_training("sequence: 1024, global_batch: 64, dropout: .inf"),
            "job.yaml:3:55: error: training.dropout: '.inf' is not a number\n"
            "  mend: write a number from 0 to 1");
}

TEST_F(TrainingMessages, DropoutOfEverything) {
  EXPECT_EQ(of_training("sequence: 1024, global_batch: 64, dropout: 1"),
            "job.yaml:3:55: error: training.dropout: 1 drops everything\n"
            "  mend: write a number from 0 to below 1");
}

TEST_F(TrainingMessages, AnOptimizerOffersTheNearest) {
  EXPECT_EQ(of_training("sequence: 1024, global_batch: 64, optimizer: adam"),
            "job.yaml:3:57: error: training.optimizer: 'adam' is not known\n"
            "  mend: did you mean adamw? known: adamw, sgd, adamw8bit, muon");
}

TEST_F(TrainingMessages, ABatchSmallerThanTheReplicas) {
  EXPECT_EQ(of_training("sequence: 1024, global_batch: 4"),
            "job.yaml:3:42: error: training.global_batch: 4 sequences do not divide by micro_batch 1 x dp 16 = 16\n"
            "  mend: write 16, or another micro_batch");
}

TEST_F(TrainingMessages, NodesAreNotNegative) {
  EXPECT_EQ(of_cluster("node: box-8, nodes: -2"),
            "job.yaml:2:31: error: cluster.nodes: -2 is out of range\n"
            "  mend: write a whole number from 1 to 1000000");
}

TEST_F(TrainingMessages, GpusTimesNodesStayACount) {
  // 1024 GPUs on each of a million nodes are still counted right.
  EXPECT_EQ(of_cluster("node: {base: box-8, gpus: 1024}, nodes: 1000000"),
            "job.yaml:3:42: error: training.global_batch: 64 sequences do not divide by micro_batch 1 x dp "
            "1024000000 = 1024000000\n"
            "  mend: write 1024000000, or another micro_batch");
}

TEST_F(TrainingMessages, MorePassesThanAreSimulated) {
  // Over 2 replicas of 8 stages 1,000,000 sequences are 500,000 microbatches: 4,000,000 passes, the most there may be.
  EXPECT_EQ(of_job("pp: 8", "sequence: 1, global_batch: 1000000", "node: box-8, nodes: 2", "small"), "no fault");
  EXPECT_EQ(
      of_job("pp: 8", "sequence: 1, global_batch: 1000002", "node: box-8, nodes: 2", "small"),
      "job.yaml:3:39: error: training.global_batch: 500001 microbatches through 8 stages and chunks are more than "
      "are simulated\n"
      "  mend: write a larger micro_batch, more data parallelism or a smaller global_batch");
}

TEST_F(TrainingMessages, SequenceTimesBatchThatNoMemoryHolds) {
  EXPECT_EQ(of_job("", "sequence: 100000000, global_batch: 8000000, micro_batch: 1000000", "node: box-8", "small"),
            "job.yaml:3:22: error: training.sequence: with this batch the activations of one replica's step pass "
            "10^18 bytes\n"
            "  mend: check sequence, global_batch and micro_batch for a digit too many\n"
            "job.yaml:3:47: error: training.global_batch: one step would take more than 100,000 s with every GPU at "
            "its peak\n"
            "  mend: check sequence and global_batch for a digit too many, or write more nodes");
}

TEST_F(TrainingMessages, AStepThatNeverEnds) {
  EXPECT_EQ(of_job("", "sequence: 1000000, global_batch: 160000", "node: box-8, nodes: 2", "small"),
            "job.yaml:3:45: error: training.global_batch: one step would take more than 100,000 s with every GPU at "
            "its peak\n"
            "  mend: check sequence and global_batch for a digit too many, or write more nodes");
}

TEST_F(TrainingMessages, WhatOtherToolsCallAKey) {
  const auto hint = [&](const std::string& name) {
    const std::string told = of_training(std::string(kTraining) + ", " + name + ": 2");
    return told.substr(std::min(told.find("mend: "), told.size()));
  };
  EXPECT_EQ(hint("seq_len"), "mend: did you mean sequence?");
  EXPECT_EQ(hint("batch_size"), "mend: did you mean global_batch?");
  EXPECT_EQ(hint("dtype"), "mend: did you mean precision?");
  EXPECT_EQ(hint("tp_size"), "mend: did you mean strategy.tp?");
}

TEST_F(TrainingMessages, ANameInCapitalsIsTheSameInSmallLetters) {
  EXPECT_EQ(of_training(std::string(kTraining) + ", precision: BF16"),
            "job.yaml:3:57: error: training.precision: 'BF16' is not known\n"
            "  mend: did you mean bf16? known: fp32, tf32, fp16, bf16, fp8, mxfp8, nvfp4");
}

}  // namespace
}  // namespace config::testing
