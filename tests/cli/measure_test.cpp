// tests/cli/measure_test.cpp -- forerun measure where it cannot run: every build says so in a sentence, with exit
// code 3. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/cli/run_forerun.h"

namespace {

using testing_support::Answer;
using testing_support::contains;
using testing_support::forerun;

/// Runs forerun with this as its worker.
Answer with_worker(const std::string& worker, const std::string& arguments) {
  setenv("FORERUN_WORKER", worker.c_str(), 1);
  const Answer out = forerun(arguments);
  unsetenv("FORERUN_WORKER");
  return out;
}

TEST(Measure, SaysThatItNeedsAGpuOrFindsOne) {
  const Answer run = forerun("measure");
  if (run.exit_code == 0) {
    EXPECT_TRUE(contains(run.out, "GPU: ")) << run.out;
    return;
  }
  EXPECT_EQ(run.exit_code, 3) << run.err;
  EXPECT_TRUE(contains(run.err, "GPU")) << run.err;
  EXPECT_EQ(run.out, "");
}

TEST(Measure, ABuildWithoutTheWorkerSaysHowToGetIt) {
  const Answer run = with_worker("/no/such/worker", "measure");
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_EQ(run.err,
            "error: this build has no GPU part: there is no /no/such/worker\n"
            "  mend: install the CUDA Toolkit, NCCL, CUPTI and cuDNN and build again; -D FORERUN_CUDA=ON says what is "
            "missing\n");
}

TEST(Measure, ARankThatFailsIsNamedWithItsExitStatus) {
  const Answer run = with_worker("/bin/false", "measure --gpus 2");
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_TRUE(contains(run.err, "ended with exit status 1")) << run.err;
}

/// A worker that ends at once with this status.
Answer with_status(int status) {
  const testing_support::ScratchFolder folder;
  const std::string script = folder / "worker";
  std::ofstream(script) << "#!/bin/sh\nexit " << status << "\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  return with_worker(script, "measure");
}

TEST(Measure, TheWorkersEndDecidesTheExitCode) {
  EXPECT_EQ(with_status(0).exit_code, 0);
  EXPECT_EQ(with_status(2).exit_code, 2);   // the worker has told the fault
  EXPECT_EQ(with_status(77).exit_code, 3);  // no GPU, and the worker has told why
  const Answer not_loaded = with_status(127);
  EXPECT_EQ(not_loaded.exit_code, 3);
  EXPECT_TRUE(contains(not_loaded.err, "error: the GPU part cannot start: a library of NVIDIA's")) << not_loaded.err;
}

TEST(Measure, ANumberOfGpusIsOne) {
  for (const char* text : {"0", "-1", "two", "1e9"}) {
    const Answer run = forerun(std::string("measure --gpus ") + text);
    EXPECT_EQ(run.exit_code, 2) << text;
    EXPECT_TRUE(contains(run.err, "--gpus: '" + std::string(text) + "' is no number of GPUs")) << run.err;
  }
}

/// A Job that real mode can run, on 2 GPUs.
std::string tiny_job(const testing_support::ScratchFolder& folder) {
  const std::string path = folder / "job.yaml";
  std::ofstream(path) << "model: {base: llama3-8b, layers: 2}\n"
                         "cluster: {node: {base: dgx-h100, gpus: 2}, nodes: 1}\n"
                         "training: {sequence: 1024, global_batch: 2, micro_batch: 1}\n"
                         "strategy: {tp: 2}\n";
  return path;
}

TEST(Measure, WhatIsNotComputedIsRefusedByNameBeforeAWorkerIsLookedFor) {
  const testing_support::ScratchFolder folder;
  const Answer run = with_worker("/no/such/worker", "measure " + tiny_job(folder) + " --set training.dropout=0.1");
  EXPECT_EQ(run.exit_code, 2) << run.err;
  EXPECT_TRUE(contains(run.err, "training.dropout: dropout is not computed by real mode yet")) << run.err;
}

TEST(Measure, GpusThatDoNotFitTheJobAreRefused) {
  const testing_support::ScratchFolder folder;
  const Answer run = with_worker("/no/such/worker", "measure " + tiny_job(folder) + " --gpus 4");
  EXPECT_EQ(run.exit_code, 2) << run.err;
  EXPECT_TRUE(contains(run.err, "--gpus: the job is cut for 2 GPUs, and 4 ranks are started")) << run.err;
}

TEST(Measure, ASoundJobWantsItsWorker) {
  const testing_support::ScratchFolder folder;
  const Answer run = with_worker("/no/such/worker", "measure " + tiny_job(folder));
  EXPECT_EQ(run.exit_code, 3) << run.err;
}

TEST(Measure, TheWorkersGetTheJobAndItsOptions) {
  const testing_support::ScratchFolder folder;
  const std::string script = folder / "worker", job = tiny_job(folder);
  std::ofstream(script) << "#!/bin/sh\n[ $RANK = 0 ] && echo $WORLD_SIZE $*\nexit 0\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  const Answer run = with_worker(script, "measure " + job + " --steps 5 --warmup 2 --json out.json --set strategy.sp=true");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out, "2 run " + job + " --set strategy.sp=true --steps 5 --warmup 2 --json out.json\n");
}

TEST(Measure, OptionsOfAJobWithoutOneAreRefused) {
  const Answer run = forerun("measure --steps 5");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_TRUE(contains(run.err, "--steps: belongs to a JOB")) << run.err;
}

}  // namespace
