// tests/cli/against_test.cpp -- forerun explain --against, validate --measured and import kineto, as a user has them.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "tests/cli/run_forerun.h"

namespace {

using nlohmann::json;
using testing_support::Answer;
using testing_support::contains;
using testing_support::forerun;

/// A Llama of 5 thousand parameters on 4 ranks, and a recorded step of it.
class Recorded {
 public:
  Recorded() {
    std::ofstream(job)
        << "model: {name: tiny, layers: 2, hidden: 16, heads: 4, kv_heads: 2, head_dim: 4, ffn: 24,\n"
           "        gated_mlp: true, activation: swiglu, vocab: 32, norm: rmsnorm, position: rope}\n"
           "cluster: {node: {base: dgx-h100, gpus: 4}, nodes: 1}\n"
           "training: {sequence: 8, global_batch: 4, micro_batch: 1, precision: bf16, optimizer: adamw}\n"
           "strategy: {tp: 2, sp: true, pp: 2}\n";
    made = forerun("measure " + job + " --backend cpu --steps 1 --trace " + trace);
  }
  testing_support::ScratchFolder folder;
  const std::string job = folder / "tiny.yaml", trace = folder / "t.json";
  Answer made;
};

void expect_exact(const json& answer, const char* list) {
  for (const char* side : {"predicted", "measured"}) {
    std::int64_t sum = 0;
    for (const json& part : answer[list]) sum += part[side]["in_step_ps"].get<std::int64_t>();
    EXPECT_EQ(sum, answer[std::string(side) + "_ps"].get<std::int64_t>()) << list;
  }
}

TEST(Against, AStepThatWasRecordedHereIsAlignedOperatorByOperator) {
  const Recorded step;
  ASSERT_EQ(step.made.exit_code, 0) << step.made.err;
  const Answer run = forerun("explain " + step.job + " --against " + step.trace + " --json -");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const json answer = json::parse(run.out);
  EXPECT_EQ(answer["source"], "cpu");
  EXPECT_TRUE(answer["by_operator"]);
  for (const json& part : answer["parts"]) {
    EXPECT_NE(part["kind"], "only_predicted") << part;
    EXPECT_NE(part["kind"], "only_measured") << part;
  }
  expect_exact(answer, "parts");
  expect_exact(answer, "families");
}

TEST(Against, ARankIsChosenAndATableWritten) {
  const Recorded step;
  const Answer run = forerun("explain " + step.job + " --against " + step.trace + " --rank 0 --csv -");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(contains(run.out, "stream,family,name,phase,microbatch,chunk,layer,predicted_start_s,predicted_s,"));
  EXPECT_TRUE(contains(run.out, "\nsend next,send_recv pp,send activations,forward,0,0,,")) << run.out;
  EXPECT_EQ(forerun("explain " + step.job + " --against " + step.trace + " --rank 1").err,
            step.trace + ": error: --rank: rank 1 is not in the trace\n  mend: choose of 0, 2\n");
}

TEST(Against, AStepOfAnotherJobIsRefusedWithAllThatDiffers) {
  const Recorded step;
  const Answer run =
      forerun("explain " + step.job + " --set strategy.tp=4 --set strategy.pp=1 --set training.sequence=16 " +
              "--set model.kv_heads=4 --against " + step.trace);
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_TRUE(contains(run.err, "strategy.tp: the step was recorded with 2, the job has 4")) << run.err;
  EXPECT_TRUE(contains(run.err, "strategy.pp: the step was recorded with 2, the job has 1")) << run.err;
  EXPECT_TRUE(contains(run.err, "training.sequence: the step was recorded with 8, the job has 16")) << run.err;
}

TEST(Against, ValidateTakesThePredictionOfTheFileOrOfAJob) {
  const Recorded step;
  const Answer own = forerun("validate --measured " + step.trace + " --json -");
  const Answer job = forerun("validate " + step.job + " --measured " + step.trace + " --json -");
  ASSERT_EQ(own.exit_code, 0) << own.err;
  ASSERT_EQ(job.exit_code, 0) << job.err;
  const json of_file = json::parse(own.out), of_job = json::parse(job.out);
  EXPECT_EQ(of_file["predicted_ps"], of_job["predicted_ps"]);
  EXPECT_EQ(of_file["families"], of_job["families"]);
  const Answer text = forerun("validate --measured " + step.trace);
  EXPECT_TRUE(contains(text.out, "recorded on a CPU: its times say nothing of a GPU")) << text.out;
}

TEST(Against, APageIsWrittenByEitherCommand) {
  const Recorded step;
  const std::string page = step.folder / "a.html", own = step.folder / "b.html";
  const Answer explained = forerun("explain " + step.job + " --against " + step.trace + " --html " + page);
  ASSERT_EQ(explained.exit_code, 0) << explained.err;
  EXPECT_TRUE(contains(explained.out, "Held against")) << explained.out;
  const std::string told = testing_support::content_of(page);
  EXPECT_TRUE(contains(told, "<section id=\"difference\""));
  EXPECT_TRUE(contains(told, R"("traces":["predicted","measured"])"));
  EXPECT_FALSE(contains(told, "Times as long"));  // a CPU's times
  ASSERT_EQ(forerun("validate --measured " + step.trace + " --html " + own).exit_code, 0);
  EXPECT_TRUE(contains(testing_support::content_of(own), "<section id=\"difference\""));
}

TEST(Against, OptionsOfOtherQuestionsAreRefused) {
  const auto refused = [](const std::string& arguments, const std::string& text) {
    const Answer run = forerun(arguments);
    EXPECT_EQ(run.exit_code, 2) << arguments;
    EXPECT_TRUE(contains(run.err, text)) << run.err;
  };
  refused("explain llama3-70b-64xh100 --against t.json --sensitivity", "--against: stands beside --sensitivity");
  refused("explain llama3-70b-64xh100 --rank 0", "--rank: is of --against alone");
  refused("explain llama3-70b-64xh100 --html a.html", "--html: is of --against alone");
  refused("explain llama3-70b-64xh100 --trace a.json", "--trace: is of --against alone");
  refused("explain llama3-70b-64xh100 --against /no/such.json", "/no/such.json: error: TRACE: there is no such file");
  refused("validate --measured t.json --tier A", "--tier: is of validation files, not of a recorded step");
  refused("validate a.yaml b.yaml --measured t.json", "JOB: is given 2 times");
  refused("validate --rank 0 a.yaml", "--rank: is of --measured alone");
}

/// A made-up step of one GPU of eight: one all-gather of 3 ms and one matmul of 5 ms.
std::string profile(const testing_support::ScratchFolder& folder) {
  const std::string path = folder / "k.json";
  std::ofstream(path) << R"({"distributedInfo": {"rank": 3, "world_size": 8}, "traceEvents": [
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#6", "ts": 100, "dur": 20000, "pid": 1, "tid": 1},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernelExC", "ts": 110, "dur": 5, "pid": 1, "tid": 1, "args": {"correlation": 1}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 120, "dur": 5, "pid": 1, "tid": 1, "args": {"correlation": 2}},
{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllGather_RING_LL", "ts": 200.5, "dur": 3000, "pid": 0, "tid": 20,
 "args": {"device": 0, "stream": 20, "correlation": 1, "Collective name": "_allgather_base", "Group size": 8}},
{"ph": "X", "cat": "kernel", "name": "nvjet_hsh_128x256", "ts": 3300.5, "dur": 5000, "pid": 0, "tid": 7,
 "args": {"device": 0, "stream": 7, "correlation": 2}}]})";
  return path;
}

TEST(Against, AProfileOfPyTorchIsImportedAndToldByFamily) {
  const testing_support::ScratchFolder folder;
  const std::string recorded = folder / "r.json";
  const Answer import = forerun("import kineto " + profile(folder) + " -o " + recorded);
  ASSERT_EQ(import.exit_code, 0) << import.err;
  EXPECT_TRUE(contains(import.out, "* step 6")) << import.out;
  const std::string job =
      "--model llama3-8b --node dgx-h100 --sequence 4096 --global-batch 8 --micro-batch 1 --zero 3 --set "
      "strategy.framework=torch";
  const Answer run = forerun("explain " + job + " --against " + recorded + " --json -");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const json answer = json::parse(run.out);
  // 200.5 to 8300.5 us: 3 ms of the gather, 0.1 ms idle, 5 ms of the matmul.
  EXPECT_EQ(answer["measured_ps"], 8'100'000'000);
  EXPECT_EQ(answer["rank"], 3);
  std::map<std::string, std::int64_t> measured;
  for (const json& part : answer["families"]) measured[part["family"]] = part["measured"]["in_step_ps"];
  EXPECT_EQ(measured["all_gather of 8"], 3'000'000'000);
  EXPECT_EQ(measured["matmul"], 5'000'000'000);
  EXPECT_EQ(measured["idle"], 100'000'000);
  EXPECT_EQ(answer["kernels"].size(), 2u);
  expect_exact(answer, "families");

  const Answer other = forerun("explain " + job + " --nodes 2 --set training.global_batch=16 --against " + recorded);
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_TRUE(contains(other.err, "cluster.gpus: the step was recorded with 8, the job has 16")) << other.err;
  EXPECT_TRUE(
      contains(forerun("validate --measured " + recorded).err, "JOB: is missing, and the trace holds no prediction"));
}

TEST(Against, AProfileIsReadAsTheProfilerWroteIt) {
  // Eight GPUs by its own telling, which the job does not have.
  const testing_support::ScratchFolder folder;
  const Answer run = forerun("explain llama3-70b-64xh100 --against " + profile(folder));
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_TRUE(contains(run.err, "cluster.gpus: the step was recorded with 8, the job has 64")) << run.err;
}

TEST(Against, ImportSaysWhatItWants) {
  const testing_support::ScratchFolder folder;
  EXPECT_TRUE(contains(forerun("import kineto " + profile(folder)).err, "-o: is missing"));
  EXPECT_TRUE(contains(forerun("import kineto a.json -o b.json --node dgx-h100").err, "--node: belongs to nccl-tests"));
}

}  // namespace
