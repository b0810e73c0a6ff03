// tests/real/launch/identity_test.cpp -- which launcher a process believes, and what it says of a broken environment.
// SPDX-License-Identifier: Apache-2.0
#include "real/launch/identity.h"

#include <gtest/gtest.h>

#include <map>

#include "core/base/fault.h"

namespace {

using Variables = std::map<std::string, std::string>;

real::Identity with(const Variables& variables) {
  return real::identify([&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

std::string fault_of(const Variables& variables) {
  try {
    with(variables);
  } catch (const base::InputError& error) {
    return error.what();
  }
  return "none";
}

const Variables kStep{{"SLURM_PROCID", "5"},
                      {"SLURM_STEP_ID", "0"},
                      {"SLURM_JOB_ID", "7"},
                      {"SLURM_STEP_NUM_TASKS", "7"},
                      {"SLURM_LOCALID", "1"},
                      {"SLURM_NODEID", "2"},
                      {"SLURM_STEP_NODELIST", "n[1-4]"},
                      {"SLURM_STEP_TASKS_PER_NODE", "2(x3),1"}};

TEST(Identity, NothingSetIsASingleProcess) {
  const real::Identity alone = with({});
  EXPECT_EQ(alone.launcher, "single");
  EXPECT_EQ(alone.rank, 0);
  EXPECT_EQ(alone.world, 1);
  EXPECT_FALSE(alone.host.empty());
}

TEST(Identity, TorchrunTellsAll) {
  const real::Identity id = with({{"RANK", "9"},
                                  {"WORLD_SIZE", "16"},
                                  {"LOCAL_RANK", "1"},
                                  {"LOCAL_WORLD_SIZE", "8"},
                                  {"MASTER_ADDR", "node1"},
                                  {"MASTER_PORT", "29500"}});
  EXPECT_EQ(id.launcher, "torchrun");
  EXPECT_EQ(id.rank, 9);
  EXPECT_EQ(id.world, 16);
  EXPECT_EQ(id.local_rank, 1);
  EXPECT_EQ(id.local_world, 8);
  EXPECT_EQ(id.store_host, "node1");
  EXPECT_EQ(id.store_port, 29500);
}

TEST(Identity, TheAgentOfTorchrunHoldsItsPortSoAnotherIsTaken) {
  const Variables elastic{{"RANK", "0"},
                          {"WORLD_SIZE", "2"},
                          {"LOCAL_RANK", "0"},
                          {"LOCAL_WORLD_SIZE", "2"},
                          {"MASTER_ADDR", "127.0.0.1"},
                          {"MASTER_PORT", "29500"},
                          {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                          {"TORCHELASTIC_RUN_ID", "none"}};
  Variables other = elastic;
  other["RANK"] = "1";
  other["LOCAL_RANK"] = "1";
  EXPECT_NE(with(elastic).store_port, 29500);
  EXPECT_EQ(with(elastic).store_port, with(other).store_port);  // the ranks agree without a word
}

TEST(Identity, OpenMpiGoesBeforeSlurmBecauseEveryRankOfItSeesTheBatchScriptsRank) {
  const real::Identity id = with({{"SLURM_PROCID", "0"},
                                  {"SLURM_STEP_ID", "0"},
                                  {"OMPI_COMM_WORLD_RANK", "1"},
                                  {"OMPI_COMM_WORLD_SIZE", "2"},
                                  {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                  {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}});
  EXPECT_EQ(id.launcher, "openmpi");
  EXPECT_EQ(id.rank, 1);
  EXPECT_EQ(id.store_host, "127.0.0.1");  // all ranks are on this machine
}

TEST(Identity, HydraIsKnownByItsLocalRank) {
  const real::Identity id =
      with({{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}, {"MPI_LOCALRANKID", "3"}, {"MPI_LOCALNRANKS", "4"}});
  EXPECT_EQ(id.launcher, "hydra");
  EXPECT_EQ(id.rank, 3);
}

TEST(Identity, ASlurmStepIsOneAndABatchScriptIsNot) {
  const real::Identity id = with(kStep);
  EXPECT_EQ(id.launcher, "slurm");
  EXPECT_EQ(id.rank, 5);
  EXPECT_EQ(id.world, 7);
  EXPECT_EQ(id.local_world, 2);  // 2, 2, 2, 1: the node with id 2 is the third
  EXPECT_EQ(id.store_host, "n1");
  EXPECT_EQ(with({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}).launcher, "single");
}

TEST(Identity, TwoJobsOfOneMachineMeetAtTwoPorts) {
  Variables other = kStep;
  other["SLURM_JOB_ID"] = "8";
  EXPECT_NE(with(kStep).store_port, with(other).store_port);
  EXPECT_GE(with(kStep).store_port, 20000);
  EXPECT_LT(with(kStep).store_port, 32000);  // systems hand out ports from 32768
}

TEST(Identity, SaysWhichVariableIsMissingOrWrong) {
  EXPECT_EQ(fault_of({{"RANK", "0"}}),
            "error: WORLD_SIZE: is not set, though other variables of torchrun are\n"
            "  mend: set all of them, or none for a single process");
  EXPECT_EQ(fault_of({{"RANK", "x"}, {"WORLD_SIZE", "4"}}),
            "error: RANK: 'x' is no whole number\n  mend: the launcher (torchrun) sets it; unset it to run alone");
  EXPECT_EQ(fault_of({{"RANK", "4"}, {"WORLD_SIZE", "4"}}),
            "error: rank: torchrun says rank 4 of 4\n  mend: check what torchrun set in the environment; unset it to "
            "run alone");
  EXPECT_EQ(fault_of({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "2"}, {"LOCAL_WORLD_SIZE", "2"}}),
            "error: rank: torchrun says local rank 2 of 2 on this machine, 2 in all\n"
            "  mend: check what torchrun set in the environment; unset it to run alone");
  EXPECT_EQ(fault_of({{"RANK", "0"}, {"WORLD_SIZE", "2"}}),
            "error: MASTER_ADDR: is not set, and the ranks run on several machines\n"
            "  mend: set it to the machine of rank 0 (mpirun: -x MASTER_ADDR=node1)");
  EXPECT_EQ(fault_of({{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"MASTER_PORT", "99999"}}),
            "error: MASTER_PORT: 99999 is no port\n  mend: set it to a free port, 1 to 65535");
}

TEST(Identity, TheFirstHostOfANodeList) {
  EXPECT_EQ(real::first_host("gpu[07-09,12],x1"), "gpu07");
  EXPECT_EQ(real::first_host("a,b"), "a");
  EXPECT_EQ(real::first_host("n[3]-ib"), "n3-ib");
  EXPECT_EQ(real::first_host("solo"), "solo");
  EXPECT_THROW(real::first_host("n[1-"), base::InputError);
}

TEST(Identity, TasksOfEachNode) {
  const std::vector<int> counts{2, 2, 2, 1};
  for (int node = 0; node < 4; ++node)
    EXPECT_EQ(real::tasks_on_node("2(x3),1", node), counts[static_cast<std::size_t>(node)]);
  EXPECT_EQ(real::tasks_on_node("2(x3),1", 4), std::nullopt);
  EXPECT_EQ(real::tasks_on_node("2(x", 0), std::nullopt);
  EXPECT_EQ(real::tasks_on_node("", 0), std::nullopt);
}

}  // namespace
