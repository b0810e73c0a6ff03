// SPDX-License-Identifier: Apache-2.0
#include "sim/against/job_facts.h"

#include <gtest/gtest.h>

#include "core/plan/facts.h"
#include "tests/support/toy.h"

namespace {

TEST(JobFacts, TwoJobsDifferInWhatDecidesTheirOperators) {
  trace::Facts job{{"strategy.tp", "4"}, {"strategy.pp", "2"}}, recorded{{"strategy.tp", "2"}, {"strategy.pp", "2"}};
  const auto faults = sim::conflicts(job, recorded);
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(base::to_string(faults[0]),
            "error: strategy.tp: the step was recorded with 2, the job has 4\n  mend: name the job that was measured");
}

TEST(JobFacts, AJobTellsEveryKeyThatTwoOfThemMayDifferIn) {
  const trace::Facts one = plan::facts_of(toy::job({.tp = 2, .pp = 2, .microbatches = 4}));
  EXPECT_TRUE(sim::conflicts(one, one).empty());
  // tp 1 on half of the GPUs.
  const auto faults = sim::conflicts(one, plan::facts_of(toy::job({.pp = 2, .microbatches = 4})));
  std::vector<std::string> keys;
  for (const base::Fault& fault : faults) keys.push_back(fault.field);
  EXPECT_EQ(keys, (std::vector<std::string>{"cluster.gpus", "strategy.tp"}));
}

TEST(JobFacts, WhatTheRecordDoesNotTellIsNoConflict) {
  EXPECT_TRUE(sim::conflicts({{"strategy.tp", "4"}, {"cluster.gpus", "8"}}, {{"cluster.gpus", "8"}}).empty());
}

std::vector<std::string> doubts_of(const trace::Facts& facts, int dp, const std::string& source = "kineto",
                                   const std::string& framework = "torch") {
  trace::Recorded recorded;
  recorded.source = source;
  recorded.facts = facts;
  spec::Job job = toy::job({.dp = dp});
  job.cluster.node.gpu.name = "h100-sxm";
  job.framework.name = framework;
  return sim::doubts(job, recorded);
}

TEST(JobFacts, ARecordOfAnotherGpuIsDoubted) {
  EXPECT_TRUE(doubts_of({{"device", "NVIDIA H100 80GB HBM3"}}, 1).empty());
  EXPECT_EQ(doubts_of({{"device", "NVIDIA H200"}}, 1),
            std::vector<std::string>{"recorded on NVIDIA H200, predicted for h100-sxm: two GPUs are compared"});
  EXPECT_EQ(doubts_of({{"device", "NVIDIA A100-SXM4-80GB"}}, 1).size(), 1u);
  EXPECT_TRUE(doubts_of({}, 1).empty());  // nothing is known
}

TEST(JobFacts, ARecordThatTellsOfOneGpuIsDoubtedForAJobOfMany) {
  EXPECT_EQ(doubts_of({}, 4), std::vector<std::string>{"the trace tells of one GPU alone, the job has 4"});
  EXPECT_TRUE(doubts_of({{"cluster.gpus", "4"}}, 4).empty());
}

TEST(JobFacts, AStepOfRealModeIsLikeThePredictionOfItsOwnProfile) {
  const auto told = doubts_of({}, 1, "gpu", "megatron");
  ASSERT_EQ(told.size(), 1u);
  EXPECT_NE(told[0].find("predicted are those of megatron: like with like by --framework forerun"), std::string::npos);
  EXPECT_TRUE(doubts_of({}, 1, "gpu", "forerun").empty());
  EXPECT_TRUE(
      doubts_of({}, 1, "cpu", "megatron").empty());  // computes as any profile's plan says, in no time that counts
}

}  // namespace
